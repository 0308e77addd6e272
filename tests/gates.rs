//! The gates that are shipped say what their own texts say that they do.
//!
//! A fence ` ```json WORD ` in the body of a gate is a context, and the word is what the gate says of
//! it: `continue`, `block` or `require_approval`.

use std::fs;

use serde_json::Value;

use crate::support::Sandbox;

/// What an answer is as an exit code.
fn code(word: &str) -> Option<i32> {
    match word {
        "continue" => Some(0),
        "block" => Some(1),
        "require_approval" => Some(5),
        _ => None,
    }
}

/// The contexts in the text of a gate, each with the answer that it is said to have.
fn examples(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(word) = line.strip_prefix("```json ") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            found.push((word.trim().to_owned(), body.join("\n")));
        }
    }
    found
}

/// A git repository in which everything is committed, with the gates in it.
fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, text) in shipped() {
        sandbox.file(&path, text);
    }
    sandbox.file(".gitignore", ".wf/\n");
    for args in [
        &["init", "-q"][..],
        &["add", "."],
        &["-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "one"],
    ] {
        let done = sandbox.program("git").args(args).output().expect("there is git");
        assert!(done.status.success(), "{args:?}: {done:?}");
    }
    sandbox
}

fn shipped() -> Vec<(String, String)> {
    let entries = fs::read_dir("gates").expect("there are gates").flatten();
    let mut all: Vec<(String, String)> = entries
        .map(|entry| {
            let path = entry.path();
            let text = fs::read_to_string(&path).expect("gates are text");
            (path.display().to_string(), text)
        })
        .collect();
    all.sort();
    all
}

#[test]
fn every_gate_that_is_shipped_does_what_it_says() {
    let sandbox = repository();
    let mut wrong = Vec::new();
    for (path, text) in shipped() {
        let examples = examples(&text);
        assert!(!examples.is_empty(), "{path} has no example");
        for (word, context) in examples {
            let expected = code(&word).unwrap_or_else(|| panic!("{path}: {word}"));
            let did = sandbox.wf(&["gate", "test", &path, "--context", &context]);
            if did.code != Some(expected) {
                wrong.push(format!("{path}: {context} is no `{word}`\n{}", did.all()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_tree_with_changes_is_not_clean() {
    let sandbox = repository();
    sandbox.file("notes.txt", "new\n");
    sandbox
        .wf(&["gate", "test", "clean-tree"])
        .exits(1)
        .says("not committed: notes.txt")
        .says("commit_first: respond");
}

#[test]
fn a_large_change_needs_somebody_who_agrees_and_a_huge_one_is_blocked() {
    let sandbox = repository();
    let path = "gates/diff-size.md";
    let text = sandbox.read(path);
    for (lines, code) in [(300, 0), (500, 5), (3000, 1)] {
        sandbox.file(path, format!("{text}{}", "more\n".repeat(lines)));
        sandbox.wf(&["gate", "test", "diff-size"]).exits(code);
    }
}

#[test]
fn a_gate_of_the_workspace_is_recorded_with_every_run() {
    let sandbox = Sandbox::new();
    sandbox.file("wf.yaml", "gates: [system-gate]\n");
    let gate = |id: &str| {
        format!(
            "---\nkind: gate\nid: {id}\non: before_publish\nprovider: predicate\n\
             check: regex\nextract: $.plan\nconfig: {{pattern: .}}\n---\n"
        )
    };
    sandbox.file("gates/system-gate.md", gate("system-gate"));
    sandbox.file("gates/own-gate.md", gate("own-gate"));
    sandbox.file(
        "plan.md",
        "---\nkind: plan\nid: it\nsteps:\n  - {id: one, run: 'true', gates: [own-gate]}\n---\n",
    );
    let wrong = sandbox.wf(&["check", "plan.md"]).exits(3);
    wrong.says("gate `own-gate` is triggered by `before_publish`");
    let plan = "---\nkind: plan\nid: it\ngates: [own-gate]\nsteps:\n  - {id: one, run: 'true', verify: [{name: ok, run: 'true'}]}\n---\n";
    sandbox.file("plan.md", plan);
    sandbox.wf(&["run", "plan.md"]).exits(0);
    let paths: Vec<String> = {
        let database = sandbox.database();
        let mut asked = database.prepare("SELECT path FROM run_sources ORDER BY path").unwrap();
        let rows = asked.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let gates: Vec<&String> = paths.iter().filter(|path| path.contains('/')).collect();
    assert_eq!(gates, ["gates/own-gate.md", "gates/system-gate.md"]);
    // What was recorded is what is looked at again, whatever became of the files.
    fs::remove_dir_all(sandbox.at("gates")).unwrap();
    sandbox.wf(&["run", "plan.md"]).exits(3).says("gate `system-gate` not found");
    sandbox.wf(&["verify", "--last"]).exits(0).says("pass");
}

#[test]
fn a_list_of_gates_is_json_for_programs() {
    let did = repository().wf(&["gate", "list", "--json"]).exits(0);
    let list: Value = serde_json::from_str(&did.out).unwrap();
    let all = list.as_array().unwrap();
    assert_eq!(all.len(), shipped().len());
    assert!(all.iter().all(|gate| gate["valid"] == true), "{list}");
}

#[test]
fn a_worker_that_edits_the_program_of_a_gate_is_stopped_by_it() {
    let sandbox = Sandbox::new();
    sandbox.file("look.sh", "echo 'reason: never'\nexit 1\n");
    let gate = "{id: never, on: before_step, provider: script, run: sh look.sh}";
    let plan = |edit: &str| {
        format!(
            "---\nkind: plan\nid: it\nsteps:\n  - {{id: edit, run: {edit}}}\n  \
             - {{id: guarded, depends_on: [edit], run: touch harm, gates: [{gate}]}}\n---\n"
        )
    };
    sandbox.file("plan.md", plan("'true'"));
    sandbox.wf(&["run", "plan.md"]).exits(1).says("never");
    sandbox.file("plan.md", plan("echo true > look.sh"));
    sandbox.wf(&["run", "plan.md"]).exits(1).says("the gate failed: changed, not declared: look.sh");
    assert!(!sandbox.at("harm").exists());
}
