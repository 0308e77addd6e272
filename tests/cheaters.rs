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
        if !folders
            .iter()
            .any(|folder| Path::new(folder).join(program).exists())
        {
            println!("NOT TESTED: cheaters that need `{program}`, which is not there");
            assert!(
                std::env::var_os("CI").is_none(),
                "{program} must be there in CI"
            );
        }
    }
    let shown = sandbox.wf(&["show", "--last", "--json"]).exits(0).out;
    let shown: Value = serde_json::from_str(&shown).expect("a run is shown as JSON");
    let steps = shown["steps"].as_array().expect("there are steps");
    let cheaters: Vec<&Value> = steps
        .iter()
        .filter(|step| !SCENE.iter().any(|scene| step["step"] == *scene))
        .collect();
    assert!(cheaters.len() > 25, "{}", did.all());
    let mut believed = Vec::new();
    for step in cheaters {
        let (name, standing) = (&step["step"], &step["standing"]);
        let said = why(&shown, step);
        println!(
            "{:<24} {:<10} {:<10} {said}",
            text(name),
            text(&step["state"]),
            text(standing)
        );
        if standing == "verified" {
            believed.push(text(name).to_owned());
        }
    }
    assert_eq!(believed, ["honest"], "{}", did.all());
    assert_eq!(shown["run"]["standing"], "reported");
    let left = crate::crash::lines_of_ps(sandbox);
    assert!(left.is_empty(), "{left:?}");
    sandbox.wf(&["doctor"]).says("none altered");
    for entry in walkdir::WalkDir::new("examples/cheaters")
        .into_iter()
        .flatten()
    {
        if entry.file_type().is_file() {
            let copy = sandbox.at(&entry.path().display().to_string());
            assert_eq!(
                std::fs::read(entry.path()).ok(),
                std::fs::read(copy).ok(),
                "{entry:?}"
            );
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// What was held against a step: by its check, or by how it ended.
fn why(shown: &Value, step: &Value) -> String {
    let checks = shown["checks"].as_array().expect("there are checks");
    let verdicts = checks.iter().filter(|check| check["step"] == step["step"]);
    let failed = verdicts
        .map(|check| &check["verdict"])
        .find(|verdict| verdict["ruling"] != "pass");
    failed.map_or_else(
        || text(&step["why"]).to_owned(),
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
