//! Workers that say they are done, and are not: `examples/cheaters`.

#![expect(clippy::print_stdout, reason = "the tables are for people")]

use std::path::Path;

use serde_json::Value;

use crate::support::{Did, Sandbox};

/// What cheaters are made of.
const PROGRAMS: [&str; 5] = ["python3", "make", "git", "cc", "unshare"];

/// The steps that set the scene.
const SCENE: [&str; 3] = ["keep", "wait_for_them", "restore"];

/// Prints how each ended. None is believed but the honest one, nothing runs on, and all is back in
/// its place.
pub fn none_is_believed(sandbox: &Sandbox, did: &Did) {
    for program in PROGRAMS {
        let folders = ["/usr/local/bin", "/usr/bin", "/bin"];
        if !folders.iter().any(|folder| Path::new(folder).join(program).exists()) {
            println!("NOT TESTED: cheaters that need `{program}`, which is not there");
            assert!(std::env::var_os("CI").is_none(), "{program} must be there in CI");
        }
    }
    let shown = sandbox.wf(&["show", "--last", "--json"]).exits(0).out;
    let shown: Value = serde_json::from_str(&shown).expect("a run is shown as JSON");
    let steps = shown["steps"].as_array().expect("there are steps");
    let cheaters: Vec<&Value> =
        steps.iter().filter(|step| !SCENE.iter().any(|scene| step["step"] == *scene)).collect();
    assert!(cheaters.len() > 25, "{}", did.all());
    let mut believed = Vec::new();
    for step in cheaters {
        let (name, standing) = (&step["step"], &step["standing"]);
        let said = reason(&shown, step);
        println!("{:<24} {:<10} {:<10} {said}", text(name), text(&step["state"]), text(standing));
        if standing == "verified" {
            believed.push(text(name).to_owned());
        }
    }
    assert_eq!(believed, ["honest"], "{}", did.all());
    assert_eq!(shown["run"]["standing"], "reported");
    let left = crate::crash::lines_of_ps(sandbox);
    assert!(left.is_empty(), "{left:?}");
    sandbox.wf(&["doctor"]).says("hash chain OK");
    for entry in walkdir::WalkDir::new("examples/cheaters").into_iter().flatten() {
        if entry.file_type().is_file() {
            let copy = sandbox.at(&entry.path().display().to_string());
            assert_eq!(std::fs::read(entry.path()).ok(), std::fs::read(copy).ok(), "{entry:?}");
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// What was held against a step: by its check, or by how it ended.
fn reason(shown: &Value, step: &Value) -> String {
    let checks = shown["checks"].as_array().expect("there are checks");
    let verdicts = checks.iter().filter(|check| check["step"] == step["step"]);
    let failed = verdicts.map(|check| &check["verdict"]).find(|verdict| verdict["ruling"] != "pass");
    failed.map_or_else(
        || text(&step["reason"]).to_owned(),
        |verdict| {
            format!(
                "{}: expected {}, found {}",
                text(&verdict["name"]),
                text(&verdict["expected"]),
                text(&verdict["found"])
            )
        },
    )
}

/// The front matter of the plan as far as the steps, each step, and what follows them.
fn parts(plan: &str) -> (String, Vec<String>, String) {
    let (head, rest) = plan.split_once("steps:\n").expect("it has steps");
    let (steps, rest) = rest.split_once("finally:\n").expect("it cleans up");
    let (_, prose) = rest.split_once("---\n").expect("it has prose");
    let mut all: Vec<String> = Vec::new();
    for line in steps.split_inclusive('\n') {
        match all.last_mut() {
            Some(step) if !line.starts_with("  - ") => step.push_str(line),
            _ => all.push(line.to_owned()),
        }
    }
    (format!("{head}steps:\n"), all, format!("---\n{prose}"))
}

/// Each cheater alone, in a workspace that no other has changed: it fails by what it did itself.
#[test]
fn none_is_believed_alone() {
    let file = "examples/cheaters/cheaters.md";
    let (head, steps, prose) = parts(&std::fs::read_to_string(file).unwrap());
    let is = |step: &String, id: &str| {
        step.starts_with(&format!("  - {{id: {id},")) || step.starts_with(&format!("  - id: {id}\n"))
    };
    let (scene, cheaters): (Vec<String>, Vec<String>) =
        (steps.into_iter()).partition(|step| is(step, "keep") || is(step, "honest"));
    assert_eq!((scene.len(), cheaters.len()), (2, 42));
    let (head, scene, prose) = (&head, &scene, &prose);
    let halves = cheaters.chunks(cheaters.len().div_ceil(2));
    std::thread::scope(|scope| {
        for half in halves {
            scope.spawn(move || {
                for cheater in half {
                    alone(head, scene, cheater, prose);
                }
            });
        }
    });
}

fn alone(head: &str, scene: &[String], cheater: &str, prose: &str) {
    let sandbox = Sandbox::new();
    crate::examples::copy(Path::new("examples/cheaters"), &sandbox);
    let plan = "examples/cheaters/cheaters.md";
    // The sections of the others are nobody's here.
    let id = cheater.trim_start_matches("  - id: ").lines().next().unwrap_or_default();
    let (text, sections) = prose.split_once("\n## ").unwrap_or((prose, ""));
    let own = sections.split("\n## ").filter(|section| {
        let name = section.lines().next().unwrap_or_default();
        name == "honest" || name == id
    });
    let own: String = own.map(|section| format!("\n## {section}")).collect();
    let mut steps = scene.concat() + cheater;
    if id.starts_with("writes_") {
        steps += "finally:\n  - {id: wait_for_it, run: sleep 2}\n";
    }
    sandbox.file(plan, format!("{head}{steps}{text}{own}"));
    let did = sandbox.wf(&["run", plan]);
    // Who kills the engine, or writes into the database, has lost the run.
    let shown = sandbox.wf(&["show", "--last", "--json"]).out;
    let shown: Value = serde_json::from_str(&shown).unwrap_or_default();
    let steps = shown["steps"].as_array().into_iter().flatten();
    for step in steps.filter(|step| step["step"] != "wait_for_it") {
        let is_honest = step["step"] == "honest";
        let is_verified = step["standing"] == "verified";
        assert_eq!(is_verified, is_honest, "{}: {}", step["step"], did.all());
    }
    assert!(shown["steps"][1]["step"] == "honest", "{id}: {}", did.all());
}
