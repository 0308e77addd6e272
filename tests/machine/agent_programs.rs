//! Programs that work as agents: what they may ask a model, and which tool calls reach them.

use wf_base::digest::Sha256Digest;
use wf_core::machine::{ClientCall, EventKind, InputKind, ModelCallOutcome, WorkExit};
use wf_model::{AgentEngine, Step, StepWork};

use super::{
    agents::{FIRST, agent, asked, begun, briefed, collected, gated, replied, reply, tool, tool_ended},
    answers::guarded,
    killed::{Killed, attempt},
};

/// A run whose agent is a program that was briefed.
fn serving(change: impl FnOnce(&mut Step)) -> Killed {
    let mut run = begun(|step| {
        step.work = agent(3);
        if let StepWork::Agent(work) = &mut step.work {
            work.engine = AgentEngine::Command;
        }
        change(step);
    });
    assert_eq!(asked(&run.feed(brief())), ["serve 0"]);
    run
}

fn brief() -> InputKind {
    let InputKind::Briefed { mut briefing, mistake } = briefed("a") else { unreachable!("it is a briefing") };
    briefing.engine = AgentEngine::Command;
    InputKind::Briefed { briefing, mistake }
}

fn calls(request: &str, tools: Vec<InputKind>) -> InputKind {
    let tools = tools.into_iter().map(|end| match end {
        InputKind::ToolEnded(end) => end,
        other => unreachable!("{other:?}"),
    });
    let call =
        ClientCall { request: Sha256Digest::of_bytes(request.as_bytes()), input: FIRST, max_output: 10 };
    InputKind::ClientCalled { attempt: attempt("a", 1), call, tools: tools.collect() }
}

fn uses(call: u32, tools: &[&str]) -> InputKind {
    let tools: Vec<_> = tools.iter().map(|tool| (*tool, None)).collect();
    replied("a", call, reply(&tools), None)
}

fn ended(exit: WorkExit) -> InputKind {
    InputKind::ClientEnded { attempt: attempt("a", 1), exit, answer: None, mistake: None }
}

#[test]
fn a_program_calls_until_it_ends() {
    let mut run = serving(|_| {});
    assert_eq!(asked(&run.feed(calls("one", vec![]))), ["model 1"]);
    assert_eq!(asked(&run.feed(uses(1, &["Bash", "Read"]))), ["serve 1"]);
    assert_eq!(
        asked(&run.feed(calls("two", vec![tool_ended(1, 1)]))),
        ["model 2"],
        "one result is still to come"
    );
    assert_eq!(asked(&run.feed(uses(2, &[]))), ["serve 2"], "a reply without tool calls is no answer");
    assert_eq!(asked(&run.feed(ended(WorkExit::Completed))), ["end: done"]);
    collected(&mut run, WorkExit::Completed);
}

#[test]
fn a_program_has_no_more_calls_than_turns() {
    let mut run = serving(|_| {});
    for call in 1..=3 {
        assert_eq!(asked(&run.feed(calls(&call.to_string(), vec![]))), [format!("model {call}")]);
        run.feed(uses(call, &[]));
    }
    let refused = asked(&run.feed(calls("4", vec![])));
    assert!(refused.len() == 1 && refused[0].contains("max_turns"), "{refused:?}");
}

#[test]
fn a_refused_tool_call_does_not_reach_a_program_and_others_do() {
    let mut run = serving(guarded);
    run.feed(calls("one", vec![]));
    assert_eq!(asked(&run.feed(uses(1, &["Bash", "Read"]))), ["gates of 1.0"]);
    assert_eq!(asked(&run.feed(gated(tool(1, 0), Some("no")))), ["gates of 1.1"]);
    assert_eq!(asked(&run.feed(gated(tool(1, 1), None))), ["serve 1, 0 refused"]);
}

#[test]
fn a_model_whose_tool_calls_are_all_refused_replies_anew() {
    let mut run = serving(guarded);
    run.feed(calls("one", vec![]));
    run.feed(uses(1, &["Bash"]));
    let again = asked(&run.feed(gated(tool(1, 0), Some("no"))));
    assert!(again.len() == 1 && again[0].starts_with("model 2, 0 refused: "), "{again:?}");
    assert_eq!(asked(&run.feed(uses(2, &[]))), ["serve 2"]);
}

#[test]
fn a_program_begins_anew_after_a_crash_and_its_call_is_lost() {
    let mut run = serving(|_| {});
    run.feed(calls("one", vec![]));
    run.resume();
    assert_eq!(asked(&run.feed(brief())), ["serve 1"]);
    let lost = run.events.iter().any(|event| {
        matches!(&event.fact, EventKind::ModelCallEnded(end)
            if matches!(&end.outcome, ModelCallOutcome::Failed { reason, .. } if reason.contains("interrupted")))
    });
    assert!(lost);
    assert_eq!(asked(&run.feed(calls("one", vec![]))), ["model 2"]);
}

fn invalid(mistake: &str) -> InputKind {
    let exit = WorkExit::Error {
        reason: format!("invalid: {mistake}"),
        failure_class: wf_model::FailureClass::Logical,
    };
    let answer = Some(Sha256Digest::of_bytes(mistake.as_bytes()));
    InputKind::ClientEnded { attempt: attempt("a", 1), exit, answer, mistake: Some(mistake.into()) }
}

#[test]
fn a_program_repairs_its_answer_once_and_also_after_a_crash() {
    let mut run = serving(|_| {});
    run.feed(calls("one", vec![]));
    run.feed(uses(1, &[]));
    assert_eq!(asked(&run.feed(invalid("`n` is missing"))), ["serve 1, repairs `n` is missing"]);
    // What it asked before is not answered from the record: it may ask the same, and get another answer.
    assert_eq!(asked(&run.resume()), ["watch"]);
    assert_eq!(asked(&run.feed(brief())), ["serve 1, repairs `n` is missing"]);
    run.feed(calls("two", vec![]));
    run.feed(uses(2, &[]));
    let ended = asked(&run.feed(invalid("`m` is missing")));
    assert_eq!(ended, ["end: invalid: `m` is missing"]);
}
