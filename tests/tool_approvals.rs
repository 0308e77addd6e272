//! Tool calls that need an approval, through the real program: one approval lets one call be executed once, whatever
//! happens to the engine.

use crate::{
    crash::kill_both,
    decisions::last,
    support::{Sandbox, until},
};

const PLAN: &str = "---\nkind: plan\nid: careful\ngates:\n\
    \x20 - {id: scripts, on: on_tool_call, provider: predicate, check: string_match, extract: $.tool_name,\n\
    \x20    config: {allowed_values: [read], approval_values: [run]}}\n\
    steps:\n\
    \x20 - id: work\n    agent: {role: executor, tools: [read, run]}\n    allow: {write: [ran.txt, go.txt]}\n\
    \x20   timeout: 30s\n---\n\n## work\n\nDo it.\n";

/// A workspace whose agent runs scripts.
fn place(scripts: &[&str]) -> Sandbox {
    let place = Sandbox::new();
    place.file("wf.yaml", "models: {m: {api: scripted, model: replies.yaml}}\nroles: {executor: m}\n");
    place.file("plan.md", PLAN).file("ran.txt", "").file("go.txt", "");
    let calls: String = scripts
        .iter()
        .map(|script| {
            format!(
                "    - tool_calls: [{{tool: run, arguments: {{script: {}}}}}]\n",
                serde_json::json!(script)
            )
        })
        .collect();
    place.file("replies.yaml", format!("- replies:\n{calls}    - text: it is done\n"));
    place
}

/// The scripts that ran.
fn ran(place: &Sandbox) -> Vec<String> {
    place.read("ran.txt").lines().map(str::to_owned).collect()
}

#[test]
fn an_approval_is_for_one_call_and_not_for_the_next() {
    let place = place(&["echo one >> ran.txt", "echo one >> ran.txt"]);
    place.wf(&["run", "plan.md"]).exits(5).says("allow one call of `run`?");
    let run = last(&place);
    place.wf(&["resume", &run]).exits(5);
    assert!(ran(&place).is_empty());
    place.wf(&["approve", &run, "--yes"]).exits(0).says("arguments: script: echo one >> ran.txt");
    // The same script again is another call.
    place.wf(&["resume", &run]).exits(5);
    assert_eq!(ran(&place), ["one"]);
    place.wf(&["deny", &run, "--reason", "once is enough", "--yes"]).exits(0);
    place.wf(&["resume", &run]).exits(0);
    assert_eq!(ran(&place), ["one"]);
    let refused = "refused: the call was not approved: gate `scripts`: denied by robin: once is enough";
    place.wf(&["logs", &run, "work", "--calls"]).says(refused);
}

#[test]
fn an_engine_that_stayed_goes_on_with_the_answer() {
    let place = place(&["echo one >> ran.txt"]);
    let mut engine = place.start(&["run", "plan.md", "--wait"]);
    until("somebody is asked", || place.wf(&["show", "--last"]).out.contains("allow one call"));
    place.wf(&["approve", &last(&place), "--yes"]).exits(0);
    assert!(engine.wait().unwrap().success());
    assert_eq!(ran(&place), ["one"]);
}

#[test]
fn an_approved_call_is_executed_once_wherever_the_engine_dies() {
    for point in (1..60).step_by(2) {
        let place = place(&["echo one >> ran.txt"]);
        place.wf(&["run", "plan.md"]).exits(5);
        let run = last(&place);
        place.wf(&["approve", &run, "--yes"]).exits(0);
        let mut engine = place.command(&["resume", &run]);
        let code = engine.env("WF_CRASH", format!("engine:{point}")).output().unwrap().status.code();
        if code == Some(0) {
            assert!(point > 5, "it never died");
            assert_eq!(ran(&place), ["one"]);
            return;
        }
        assert!(ran(&place).len() <= 1, "at {point}");
        let resumed = place.wf(&["resume", &run]);
        assert!(
            resumed.code == Some(0) || resumed.all().contains("finished: succeeded"),
            "{}",
            resumed.all()
        );
        let calls = place.wf(&["logs", &run, "work", "--calls"]).out;
        // A script that was under way is not run again: the model is told so.
        let unknown = calls.contains("its result is unknown");
        assert!(ran(&place) == ["one"] || unknown && ran(&place).is_empty(), "at {point}: {calls}");
    }
    panic!("it dies wherever it is told to");
}

#[test]
fn a_call_that_was_under_way_is_not_executed_again_with_the_same_approval() {
    let place = place(&["echo one >> ran.txt; until [ -s go.txt ]; do sleep 0.02; done"]);
    place.wf(&["run", "plan.md"]).exits(5);
    let run = last(&place);
    place.wf(&["approve", &run, "--yes"]).exits(0);
    let mut engine = place.start(&["resume", &run]);
    until("the script runs", || !ran(&place).is_empty());
    kill_both(&mut engine);
    place.file("go.txt", "go");
    place.wf(&["resume", &run]).exits(0);
    assert_eq!(ran(&place), ["one"]);
    place.wf(&["logs", &run, "work", "--calls"]).says("its result is unknown");
}

#[test]
fn a_run_that_waits_for_a_tool_call_can_be_cancelled() {
    let place = place(&["echo one >> ran.txt"]);
    place.wf(&["run", "plan.md"]).exits(5);
    let run = last(&place);
    place.wf(&["cancel", &run]).exits(0);
    place.wf(&["show", &run]).says("cancelled");
    assert!(ran(&place).is_empty());
}

#[test]
fn a_reply_that_was_changed_after_the_approval_is_not_executed() {
    let place = place(&["echo one >> ran.txt"]);
    place.wf(&["run", "plan.md"]).exits(5);
    let run = last(&place);
    place.wf(&["approve", &run, "--yes"]).exits(0);
    let mut changed = 0;
    for body in bodies(&place.at(".wf")) {
        let text = std::fs::read_to_string(&body).unwrap_or_default();
        if text.contains("echo one") {
            let mut mode = std::fs::metadata(&body).unwrap().permissions();
            #[expect(clippy::permissions_set_readonly_false, reason = "the file is gone with the test")]
            mode.set_readonly(false);
            std::fs::set_permissions(&body, mode).unwrap();
            std::fs::write(&body, text.replace("echo one", "echo two")).unwrap();
            changed += 1;
        }
    }
    assert!(changed > 0);
    place.wf(&["resume", &run]).exits(1).says("the agent cannot go on");
    assert!(ran(&place).is_empty());
}

/// The stored bodies of calls.
fn bodies(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(bodies(&path));
        } else if path.components().any(|part| part.as_os_str() == "calls") {
            found.push(path);
        }
    }
    found
}
