//! Agents that ask people.

use crate::{
    crash::kill_both,
    decisions::last,
    support::{Office, Sandbox, until},
};

const ASK: &str = "{tool: ask, arguments: {question: Which month?, choices: [May, June]}}";

fn asking(more: &str, calls: &[&str]) -> Sandbox {
    super::place(&format!("tools: [read, ask]{more}"), "    timeout: 30s\n", calls)
}

#[test]
fn an_answer_is_the_result_of_the_call() {
    let place = asking("", &[ASK]);
    let waits = place.wf(&["run", "plan.md"]).exits(5);
    waits
        .says("waits for an answer")
        .says("the agent asks: Which month? (May, June)")
        .says("hint: wf answer ");
    let run = last(&place);
    place.wf(&["resume", &run]).exits(5);
    place.wf(&["approve", &run, "--yes"]).exits(2).says("asks a question, which a yes does not answer");
    place.wf(&["answer", &run, "--text", "July", "--yes"]).exits(2).says("the answers are: May, June");
    place.wf(&["answer", &run, "--text", "May", "--yes"]).exits(0).says("is answered");
    // The first answer stays.
    place
        .wf(&["answer", &run, "--text", "June", "--yes"])
        .exits(4)
        .says("has your answer already, and it stays");
    place.wf(&["answer", &run, "--text", "May", "--yes"]).exits(0);
    place.wf(&["resume", &run]).exits(0).says("answered").says("by robin: May");
    let told = super::exchange(&place)
        .says("Answer of robin:\nMay\n[This answers the question and approves nothing");
    told.says("it is done");
    // It is used up.
    place.wf(&["answer", &run, "--text", "June", "--yes"]);
    assert!(!super::exchange(&place).all().contains("June\n["));
}

#[test]
fn who_declines_leaves_the_agent_without_an_answer() {
    let place = asking("", &[ASK]);
    place.wf(&["run", "plan.md"]).exits(5);
    place.wf(&["deny", "--last", "--reason", "look into the file", "--yes"]).exits(0);
    place.wf(&["resume", "--last"]).exits(0);
    super::exchange(&place).says("refused: nobody answered: denied by robin: look into the file");
}

#[test]
fn an_attempt_asks_no_more_than_the_plan_allows() {
    let place = asking(", max_questions: 1", &[ASK, ASK]);
    place.wf(&["run", "plan.md"]).exits(5);
    place.wf(&["answer", "--last", "--text", "May", "--yes"]).exits(0);
    place.wf(&["resume", "--last"]).exits(0);
    super::exchange(&place).says("this attempt has asked 1 of at most 1 questions; go on with what you know");
}

#[test]
fn an_approval_is_not_answered_and_a_text_approves_nothing() {
    let place = super::place("tools: [run]", "", &["{tool: run, arguments: {script: 'true'}}"]);
    let gate = "gates: [{id: g, on: on_tool_call, provider: predicate, check: string_match, extract: $.tool_name, \
                config: {allowed_values: [read], approval_values: [run]}}]\n";
    place.file("plan.md", place.read("plan.md").replace("id: tools\n", &format!("id: tools\n{gate}")));
    place.wf(&["run", "plan.md"]).exits(5).says("hint: wf approve");
    place
        .wf(&["answer", "--last", "--text", "yes", "--yes"])
        .exits(2)
        .says("asks for an approval, not a question");
    place.wf(&["resume", "--last"]).exits(5);
}

#[test]
fn a_question_with_a_mistake_reaches_nobody() {
    let place = asking(
        "",
        &[
            "{tool: ask, arguments: {question: ''}}",
            "{tool: ask, arguments: {question: Which?, choices: May}}",
            "{tool: ask, arguments: {question: Which?, choices: [May, 6]}}",
        ],
    );
    place.wf(&["run", "plan.md"]).exits(0);
    let told =
        super::exchange(&place).says("the argument `question` of `ask` must be a text, not an empty one");
    let told = told.says("the argument `choices` of `ask` must be a list of texts, not a text");
    told.says("must be a list of texts that are not empty, not one with something else in it");
}

#[test]
fn an_engine_that_stayed_goes_on_with_the_answer() {
    let place = asking("", &[ASK]);
    let mut engine = place.start(&["run", "plan.md", "--wait"]);
    until("somebody is asked", || place.wf(&["show", "--last"]).out.contains("the agent asks"));
    place.wf(&["answer", "--last", "--text", "June", "--yes"]).exits(0);
    assert!(engine.wait().unwrap().success());
    super::exchange(&place).says("Answer of robin:\nJune");
}

#[test]
fn an_answer_outlives_the_engine_wherever_it_dies() {
    for point in (1..60).step_by(4) {
        let place = asking("", &[ASK]);
        place.wf(&["run", "plan.md"]).exits(5);
        let run = last(&place);
        place.wf(&["answer", &run, "--text", "May", "--yes"]).exits(0);
        let mut engine = place.command(&["resume", &run]);
        let code = engine.env("WF_CRASH", format!("engine:{point}")).output().unwrap().status.code();
        if code != Some(0) {
            let resumed = place.wf(&["resume", &run]);
            assert!(resumed.code == Some(0) || resumed.all().contains("succeeded"), "{}", resumed.all());
        }
        let told = super::exchange(&place).all();
        assert_eq!(told.matches("Answer of robin:\nMay").count(), 1, "at {point}: {told}");
        if code == Some(0) {
            assert!(point > 4, "it never died");
            return;
        }
    }
    panic!("it dies wherever it is told to");
}

#[test]
fn a_question_outlives_the_engine() {
    let place = asking("", &[ASK]);
    let mut engine = place.start(&["run", "plan.md", "--wait"]);
    until("somebody is asked", || place.wf(&["show", "--last"]).out.contains("the agent asks"));
    kill_both(&mut engine);
    let run = last(&place);
    place.wf(&["resume", &run]).exits(5);
    place.wf(&["answer", &run, "--text", "June", "--yes"]).exits(0);
    place.wf(&["resume", &run]).exits(0);
    assert_eq!(super::exchange(&place).all().matches("Answer of robin").count(), 1);
}

/// A workspace where runs are approved by another person, whose agent asks something.
fn reviewed(gates: &str) -> Office {
    let office = Office::new(1, &["ada", "bob"], &["ada", "bob"]);
    let place = &office.place;
    place.file("wf.yaml", "models: {m: {api: scripted, model: replies.yaml}}\nroles: {executor: m}\n");
    place.file("replies.yaml", format!("- tool_calls: [{ASK}]\n- text: it is done\n"));
    place.file(
        "plan.md",
        format!(
            "---\nkind: plan\nid: asks\n{gates}steps:\n  - {{id: ask, agent: {{role: executor, tools: [ask]}}}}\n---\n\n\
             ## ask\n\nAsk for the month.\n"
        ),
    );
    office.by("bob", &["approve", "plan.md", "--yes"]).exits(0);
    office.by("ada", &["run", "plan.md"]).exits(5).says("waits for an answer");
    office
}

#[test]
fn who_started_the_run_may_answer_since_that_approves_nothing() {
    let office = reviewed("");
    office.by("ada", &["answer", "--last", "--text", "May", "--yes"]).exits(0).says("is answered");
    office.by("ada", &["resume", "--last"]).exits(0).says("by ada: May");
}

#[test]
fn who_started_the_run_does_not_answer_where_a_gate_requires_an_approval() {
    let office = reviewed(
        "gates: [{id: g, on: on_tool_call, provider: predicate, check: string_match, extract: $.tool_name, \
         config: {approval_values: [ask]}}]\n",
    );
    office
        .by("ada", &["answer", "--last", "--text", "May", "--yes"])
        .exits(4)
        .says("self-approval is not allowed");
    office.by("bob", &["answer", "--last", "--text", "June", "--yes"]).exits(0);
    office.by("ada", &["resume", "--last"]).exits(0).says("by bob: June");
}

#[test]
fn a_cancelled_question_is_the_end_of_its_agent_in_every_log() {
    let place = asking("", &[ASK]);
    for _ in 0..4 {
        place.wf(&["run", "plan.md", "-q"]).exits(5);
        place.wf(&["cancel", "--last"]);
        let sql = "SELECT group_concat(body ->> '$.event', ' ' ORDER BY run_seq) FROM events \
                   WHERE run = (SELECT max(key) FROM runs)";
        let events: String = place.database().query_row(sql, [], |row| row.get(0)).unwrap();
        let end = "cancel_requested approval_resolved agent_ended attempt_ended step_ended run_ended";
        assert!(events.ends_with(end), "{events}");
    }
}
