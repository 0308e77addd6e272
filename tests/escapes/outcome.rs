//! Attempts as a plan, and what became of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use serde_json::Value;

use super::{
    attempt::{Attempt, Program},
    scene::Scene,
};

const PRELUDE: &str = include_str!("prelude.py");

/// What the output of an attempt has in it that got through.
const TELLTALE: &str = "canary-[0-9a-f]{16}|got-through";

/// How attempts are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Check,
    Step,
    /// As steps, in a workspace whose `wf.yaml` says `sandbox: off`.
    Open,
}

/// Executes attempts, in one run, and gives the names of those that got through, and why.
pub fn got_through(scene: &mut Scene, mode: Mode, attempts: &[Attempt]) -> BTreeMap<String, String> {
    let name = format!("{mode:?}.md").to_lowercase();
    let text = plan(scene, mode, attempts);
    std::fs::write(scene.at("ws").join(&name), text).unwrap();
    let did = scene.wf(&["run", &name]);
    assert!(matches!(did.code, Some(0 | 1)), "{}", did.all());
    let shown = scene.wf(&["show", "--last", "--json"]).exits(0).out;
    let shown: Value = serde_json::from_str(&shown).expect("a run is shown as JSON");
    let mut found = BTreeMap::new();
    for attempt in attempts {
        if let Some(reason) = told(scene, mode, attempt, &shown) {
            found.insert(attempt.name.to_owned(), reason);
        }
    }
    for trace in scene.traces() {
        found.entry(trace).or_insert_with(|| "left a trace outside".to_owned());
    }
    found
}

/// What the record of a run says against an attempt.
fn told(scene: &Scene, mode: Mode, attempt: &Attempt, shown: &Value) -> Option<String> {
    if mode == Mode::Check {
        let checks = shown["checks"].as_array().expect("there are checks");
        let mut verdicts = checks.iter().map(|check| &check["verdict"]);
        let verdict = verdicts.find(|verdict| verdict["name"] == attempt.name);
        let verdict = verdict.unwrap_or_else(|| panic!("no verdict on {}", attempt.name));
        return match verdict["ruling"].as_str() {
            Some("pass") => Some("printed what it may not know".into()),
            Some("fail") => None,
            // Killed for what it tried.
            _ if verdict["found"] == "killed by signal 31" => None,
            _ => Some(format!("could not be tried: {verdict}")),
        };
    }
    let mut ends = shown["attempts"].as_array().expect("there are attempts").iter();
    let end = ends.find(|end| end["step"] == attempt.name);
    let end = end.unwrap_or_else(|| panic!("{} was not tried: {shown:#}", attempt.name));
    if end["exit"]["kind"] == "error" {
        return Some(format!("could not be tried: {}", end["exit"]));
    }
    let logs = scene.wf(&["logs", "--last", attempt.name, "--stdout"]).out;
    let telltale = regex::Regex::new(TELLTALE).unwrap();
    let line = logs.lines().find(|line| telltale.is_match(line));
    line.map(|line| line.chars().take(100).collect())
}

fn plan(scene: &mut Scene, mode: Mode, attempts: &[Attempt]) -> String {
    let mut text =
        String::from("---\nkind: plan\nid: escapes\npolicy: {max_parallel: 3, grace: 1s}\nsteps:\n");
    if mode == Mode::Check {
        text.push_str("  - id: nothing\n    run: \"true\"\n    verify:\n");
    }
    for attempt in attempts {
        let indent = if mode == Mode::Check { "        " } else { "    " };
        match mode {
            Mode::Check => {
                let _ =
                    writeln!(text, "      - name: {}\n{indent}expect: {{regex: '{TELLTALE}'}}", attempt.name);
            }
            Mode::Step | Mode::Open => {
                let _ = writeln!(text, "  - id: {}\n{indent}on_error: continue", attempt.name);
                if mode == Mode::Step {
                    let _ = writeln!(text, "{indent}allow: {{{}}}", attempt.allow);
                }
            }
        }
        let vars = scene.vars(attempt);
        let _ = writeln!(text, "{indent}timeout: 10s\n{indent}env:");
        for (name, value) in vars {
            let _ = writeln!(text, "{indent}  {name}: '{value}'");
        }
        script(&mut text, indent, attempt);
    }
    if mode != Mode::Check {
        // What was left running writes before the run has ended.
        text.push_str("finally:\n  - {id: later, run: sleep 1.2}\n");
    }
    text + "---\n"
}

fn script(text: &mut String, indent: &str, attempt: &Attempt) {
    let (shell, script) = match attempt.program {
        Program::Sh(script) => ("[sh, -c]", script.to_owned()),
        Program::Python(script) => ("python", format!("{PRELUDE}\n{script}")),
        Program::C(_) => ("[sh, -c]", format!("./{}", attempt.name)),
    };
    let _ = writeln!(text, "{indent}shell: {shell}\n{indent}run: |");
    for line in script.lines() {
        let _ = writeln!(text, "{indent}  {line}");
    }
}

/// Compiles what is written in C; gives the names of what cannot be.
pub fn compile(scene: &Scene, attempts: &[Attempt]) -> BTreeSet<&'static str> {
    let mut not = BTreeSet::new();
    for attempt in attempts {
        if let Program::C(text) = attempt.program {
            let source = scene.at("ws").join(format!("{}.c", attempt.name));
            std::fs::write(&source, text).unwrap();
            let mut compiler = scene.program("cc");
            compiler.arg("-o").arg(attempt.name).arg(source);
            if !compiler.output().is_ok_and(|output| output.status.success()) {
                not.insert(attempt.name);
            }
        }
    }
    not
}
