//! Conversations that go on from step to step and from run to run, there and here.

use std::collections::BTreeSet;

use crate::{farm::Farm, mirrors::compare, programs::Did};

/// Replies that depend on what was said before.
const REPLIES: &str = r#"- when: And now?
  replies: [{expect: {contains: "answered: As you said, Ada."}, text: "Still Ada."}]
- when: Guess it.
  replies: [{expect: {contains: "Begin"}, text: "I cannot."}]
- when: What is my name?
  replies: [{expect: {contains: "answered: Good day, Ada."}, text: "As you said, Ada."}]
- when: My name is Ada.
  replies: [{text: "Good day, Ada."}]
"#;

/// A farm with two workers, with one queue for each.
fn farm() -> Farm {
    let farm = Farm::new(2);
    let models = "models: {small: {api: scripted, model: replies.yaml}}\nroles: {executor: small}\n";
    farm.file("wf.yaml", farm.config() + models).file("replies.yaml", REPLIES);
    let greet = "  - {id: greet, runs_on: w1, agent: {role: executor, conversation: desk}}\n";
    let name =
        "  - {id: name, runs_on: w2, depends_on: [greet], agent: {role: executor, conversation: desk}}\n";
    plan(
        &farm,
        "hello",
        &format!("{greet}{name}"),
        &[("greet", "My name is Ada."), ("name", "What is my name?")],
    );
    let ask = "  - {id: ask, agent: {role: executor, conversation: desk}}\n";
    plan(&farm, "ask", ask, &[("ask", "And now?")]);
    farm
}

/// Writes a plan whose agents are told something.
fn plan(farm: &Farm, id: &str, steps: &str, briefings: &[(&str, &str)]) {
    let briefings = briefings.iter().map(|(step, text)| format!("## {step}\n\n{text}\n\n"));
    let briefings: String = briefings.collect();
    farm.file(&format!("{id}.md"), format!("---\nkind: plan\nid: {id}\nsteps:\n{steps}---\n{briefings}"));
}

/// Returns what the agent of a step was asked.
fn calls(farm: &Farm, step: &str) -> String {
    farm.wf(&["logs", "--last", step, "--calls"]).exits(0).out
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_step_continues_what_another_host_was_told() {
    let farm = farm();
    assert_eq!(compare(&farm, "hello.md"), Some(0));
    farm.wf(&["replay", "--last"]).exits(0).says("no difference");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_conversation_goes_on_from_run_to_run_there_and_here() {
    let farm = farm();
    farm.wf(&["run", "--on", "farm", "hello.md"]).exits(0);
    farm.wf(&["run", "ask.md"]).exits(0);
    assert_eq!(calls(&farm, "ask").matches("asked: ").count(), 2, "{}", calls(&farm, "ask"));
    // The answer that was given here is continued there, and the answer from there is continued there.
    for earlier in [3, 4] {
        farm.wf(&["run", "--on", "farm", "ask.md"]).exits(0);
        assert_eq!(calls(&farm, "ask").matches("asked: ").count(), earlier, "{}", calls(&farm, "ask"));
    }
    farm.wf(&["run", "ask.md"]).exits(0);
    assert_eq!(calls(&farm, "ask").matches("asked: ").count(), 5, "{}", calls(&farm, "ask"));
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_conversation_is_whole_whenever_who_follows_is_killed() {
    let farm = farm();
    let (mut died, mut runs) = (0, BTreeSet::new());
    for point in (12..40).step_by(4) {
        let mut command = farm.command(&["run", "--on", "farm", "hello.md"]);
        let did = Did::of(command.env("WF_CRASH", format!("engine:{point}")));
        if farm.wf(&["show", "--last"]).code != Some(0) {
            continue;
        }
        let id = farm.run();
        died += u32::from(runs.insert(id.clone()) && did.code != Some(0));
        // It may be over.
        farm.wf(&["resume", &id]);
        farm.wf(&["show", &id]).exits(0).says("succeeded");
    }
    assert!(died > 0, "the command never died");
    farm.wf(&["run", "ask.md"]).exits(0);
    let asked = calls(&farm, "ask").matches("asked: ").count();
    assert_eq!(asked, runs.len() * 2, "{}", calls(&farm, "ask"));
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn an_answer_that_failed_its_check_is_in_no_conversation() {
    let farm = farm();
    let guess = "  - {id: guess, agent: {role: executor, conversation: other}, verify: [{name: right, run: 'false'}]}\n";
    plan(&farm, "guess", guess, &[("guess", "Guess it. Begin.")]);
    let nested = "  - {id: below, uses: hello.md}\n  - {id: ask, depends_on: [below], agent: {role: executor, conversation: desk}}\n";
    plan(&farm, "around", nested, &[("ask", "And now?")]);
    for _ in 0..2 {
        farm.wf(&["run", "--on", "farm", "guess.md"]).exits(1);
        assert_eq!(calls(&farm, "guess").matches("asked: ").count(), 0);
    }
    // What a nested run was told, the run around it knows.
    farm.wf(&["run", "--on", "farm", "around.md"]).exits(0);
    assert_eq!(calls(&farm, "ask").matches("asked: ").count(), 2, "{}", calls(&farm, "ask"));
}
