//! Questions of agents to people: one answer lets one call end, and approves nothing.

use serde_json::json;
use wf_base::digest::Sha256Digest;
use wf_core::{
    gate::GateOutcome,
    machine::{
        ApprovalOutcome, Effect, GatePoint, InputKind, PersonAnswer, RequestDecision, ShownContent,
        ToolCallId, ToolOrder,
    },
};
use wf_model::{AgentTool, JsonObject, Step, StepWork};

use super::{
    agents::{asked, briefed, talking, tool, tool_ended, uses},
    killed::Killed,
};

fn asks(step: &mut Step) {
    if let StepWork::Agent(work) = &mut step.work {
        work.tools.push(AgentTool::Ask);
    }
}

fn gated(id: ToolCallId) -> InputKind {
    let shown = json!({"question": "Which month?", "choices": ["May", "June"]});
    InputKind::Gated {
        task_id: Some(id.attempt.task_id.clone()),
        point: GatePoint::Call,
        gated: GateOutcome { results: Vec::new(), rewritten: JsonObject::new(), ..GateOutcome::default() },
        tool_call: Some(id),
        exchange: None,
        arguments: Some(Box::new(ShownContent { digest: Sha256Digest::of_bytes(b"{}"), shown })),
    }
}

fn decided(number: u32, decision: RequestDecision) -> InputKind {
    let given =
        ApprovalOutcome { decision, by: Vec::new(), tokens: Vec::new(), reason: "May".into(), answer: None };
    InputKind::Answered { number, given }
}

/// A run whose agent has asked for two tools, the first of which is a question.
fn waiting() -> Killed {
    let mut run = talking(asks);
    assert_eq!(asked(&run.feed(uses(1, &["ask", "read"]))), ["gates of 1.0"]);
    let effects = run.feed(gated(tool(1, 0)));
    let ask = effects.iter().find_map(|effect| match effect {
        Effect::Ask(ask) => Some(ask.clone()),
        _ => None,
    });
    let ask = ask.expect("a person is asked");
    assert!(ask.is_question());
    assert_eq!(ask.message, "the agent asks: Which month? (May, June)");
    assert_eq!(ask.choices(), ["May", "June"]);
    run
}

fn answers(effects: &[Effect]) -> Vec<Option<PersonAnswer>> {
    let calls = effects.iter().filter_map(|effect| match effect {
        Effect::CallTool(ToolOrder { answer, .. }) => Some(answer.as_deref().cloned()),
        _ => None,
    });
    calls.collect()
}

#[test]
fn an_answer_goes_with_its_call_also_after_a_crash() {
    let answer = || Some(PersonAnswer { by: Vec::new(), text: "May".into() });
    let mut run = waiting();
    assert_eq!(asked(&run.feed(decided(1, RequestDecision::Answered))), ["watch"]);
    assert_eq!(asked(&run.resume()), ["watch"]);
    assert_eq!(answers(&run.feed(briefed("a"))), [answer()]);
    assert_eq!(asked(&run.resume()), ["watch"]);
    assert_eq!(answers(&run.feed(briefed("a"))), [answer()], "the call was under way");
    // The next call is another one, and has no answer.
    assert_eq!(answers(&run.feed(tool_ended(1, 0))), [None]);
}

#[test]
fn a_plain_yes_answers_no_question() {
    let mut run = waiting();
    assert_eq!(asked(&run.feed(decided(1, RequestDecision::Approved))), [""; 0]);
    assert_eq!(asked(&run.feed(decided(1, RequestDecision::Answered))), ["watch"]);
}

#[test]
fn a_program_that_has_a_tool_of_this_name_asks_nobody() {
    let run = &mut talking(|_| {});
    assert_eq!(asked(&run.feed(uses(1, &["ask"]))), ["tool 1.0"], "the plan does not list the tool");
}
