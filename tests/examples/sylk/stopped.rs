//! What ends the work of the pack of Sylk before it is done: people, loops, budgets, limits, and models that fail.

use super::{LIMIT, pack, run};
use crate::support::Sandbox;

/// Puts a conversation before all others of the models.
fn reply_first(place: &Sandbox, conversation: &str) {
    let others = place.read("replies.yaml");
    place.file("replies.yaml", format!("{conversation}\n{others}"));
}

#[test]
fn an_inspection_that_never_holds_asks_a_person_after_three_loops() {
    let place = pack();
    // The engineer puts the blank in again, whatever the inspection found.
    reply_first(
        &place,
        r#"- when: "`format`"
  replies: [{text: '{"summary": "There is no blank."}'}]"#,
    );
    let asked = run(&place, "task.md", &LIMIT).exits(5);
    asked.says("inspect 3/3").says("ignore `inspect`?");
    place.wf(&["deny", "--last", "--reason", "blanks are not wanted", "--yes"]).exits(0);
    place.wf(&["resume", "--last"]).exits(1).says("blanks are not wanted");
}

#[test]
fn an_architect_asks_before_it_plans_and_plans_by_the_answer() {
    let place = pack();
    reply_first(
        &place,
        r#"- when: '"request": "Limit something'
  replies:
    - tool_calls: [{tool: ask, arguments: {question: "Limit what?", choices: [requests, users]}}]
    - expect: {contains: requests}
      text: '{"summary": "One task.", "plan": "---\nkind: dag\nid: feature\nnodes:\n  - {id: limit, uses: task.md, with: {task: Refuse the request after the limit., tests: limit}}\n---\n"}'"#,
    );
    run(&place, "plan.md", &["-p", "request=Limit something."]).exits(5).says("Limit what?");
    place.wf(&["answer", "--last", "--text", "requests", "--yes"]).exits(0);
    super::super::with_wf(&place, &["resume", "--last"]).exits(5).says("Do this? One task.");
}

#[test]
fn tasks_are_appended_twice_at_most() {
    let place = pack();
    // What the architect appends mends nothing.
    for (round, name) in [(1, "window"), (2, "minute")] {
        let task = "uses: task.md, with: {task: Refuse the request after the limit., tests: limit}";
        let plan = format!("---\\nkind: dag\\nid: {name}\\nnodes:\\n  - {{id: limit, {task}}}\\n---\\n");
        let steps = format!(r#"{{"fixes": {{"id": "{name}", "plan": "{plan}"}}}}"#);
        let text = format!(r#"{{"reason": "requests never pass again", "steps": {steps}}}"#);
        let when = format!(r#"'"round": {round},'"#);
        reply_first(&place, &format!("- when: {when}\n  replies: [{{text: '{text}'}}]"));
    }
    run(&place, "plan.md", &["-p", "request=Limit requests."]).exits(5);
    place.wf(&["approve", "--last", "--yes"]).exits(0);
    let ended = place.wf(&["resume", "--last"]).exits(1);
    ended
        .says("proposed fixes: `window`")
        .says("proposed fixes: `minute`")
        .says("2 of 2 re-planning rounds are used");
}

#[test]
fn a_test_cannot_be_changed_by_who_is_tested() {
    let place = pack();
    run(&place, "task.md", &super::NOTHING).exits(5);
    let logged = place.wf(&["logs", "--last", "work"]).exits(0);
    logged.says("`repo/tests/test_limit.py` cannot be written: the step may write only `repo/limiter.py`");
    assert!(place.read("repo/tests/test_limit.py").contains("[True, True, False]"));
}

#[test]
fn a_session_over_its_budget_stops_and_says_so() {
    let place = pack();
    place.file("plan.md", place.read("plan.md").replace("max_tokens: 2000000", "max_tokens: 900"));
    run(&place, "plan.md", &["-p", "request=Limit requests."]).exits(1).says("budget exhausted");
    assert!(place.read("repo/limiter.py").contains("> self.limit"), "nothing was changed");
}

#[test]
fn a_model_that_is_down_is_left_alone_and_another_one_takes_its_part() {
    let place = pack();
    let models = "models:\n  main: {api: scripted, model: down.yaml, fallback: [recorded]}\n";
    let config =
        place.read("wf.yaml").replace("models:\n", models).replace("engineer: recorded", "engineer: main");
    place.file("wf.yaml", config).file("down.yaml", "- error: {status: 503}\n");
    let ask = "---\nkind: plan\nid: ask\nsteps: [{id: ask, agent: {role: engineer, tools: []}}]\n---\n## ask\n\nAre you there?\n";
    place.file("ask.md", ask);
    for _ in 0..3 {
        // The other model has no reply to this; the calls of this one count all the same.
        let _ = place.wf(&["run", "ask.md", "-q"]);
    }
    run(&place, "task.md", &LIMIT).exits(0).says("succeeded · 1 plausible");
    place.wf(&["logs", "--last", "work"]).exits(0).says("its last 3 calls failed, so it is called again");
}
