//! Gates of the conversation of an agent: before a model call, after its reply, and after a tool call.

use serde_json::json;
use wf_base::{digest::Sha256Digest, name::GateId};
use wf_core::{
    gate::{GateAction, GateOutcome},
    machine::{
        AddedContext, AgentEnding, CallSupplement, Effect, EventKind, ExchangeGated, GatePoint, GateReply,
        GatedExchange, InputKind, RevisedResult, ShownContent, StepState, WorkExit,
    },
};
use wf_model::{GateTrigger, JsonObject};

use super::{
    agents::{answers, asked, begun, briefed, collected, talking, tool_ended, uses},
    answers::{guard, guarded_at},
    killed::{Killed, end_of},
};

/// What a gate says of the part that it is asked about.
pub(super) fn said(effects: &[Effect], action: GateAction, revised: Option<RevisedResult>) -> InputKind {
    let question = effects.iter().find_map(|effect| match effect {
        Effect::Gate(question) => Some(question.clone()),
        _ => None,
    });
    let question = question.expect("gates are asked");
    let about = question.exchange.expect("it is about a conversation");
    let mut rewritten = JsonObject::new();
    if revised.is_some() {
        rewritten.insert("response".into(), json!("[email]"));
    }
    let gated = GateOutcome { results: vec![guard(action, "not so")], rewritten, ..GateOutcome::default() };
    let content = ShownContent { digest: Sha256Digest::of_bytes(b"part"), shown: json!({"part": "a"}) };
    let content = (action == GateAction::RequireApproval).then_some(content);
    let exchange = GatedExchange {
        part: about.part,
        start: about.start,
        mistake: None,
        revised,
        content,
        supplement: CallSupplement::default(),
    };
    InputKind::Gated {
        task_id: question.task_id,
        point: question.point,
        gated,
        tool_call: None,
        arguments: None,
        exchange: Some(Box::new(exchange)),
    }
}

pub(super) fn passes(run: &mut Killed, effects: &[Effect]) -> Vec<Effect> {
    run.feed(said(effects, GateAction::Continue, None))
}

/// What gates decided last.
pub(super) fn decided(run: &Killed) -> ExchangeGated {
    let mut facts = run.events.iter().rev();
    let found = facts.find_map(|event| match &event.fact {
        EventKind::ExchangeGated(gated) => Some(gated.clone()),
        _ => None,
    });
    found.expect("gates decided")
}

pub(super) fn fails(run: &mut Killed, effects: &[Effect], reason: &str) {
    let Some(Effect::EndAgent(AgentEnding { exit, .. })) = effects.first() else {
        panic!("it ends: {effects:?}");
    };
    assert_eq!(exit.to_string(), reason);
    let exit: WorkExit = exit.clone();
    collected(run, exit);
    assert_eq!(end_of(&run.events, "a").map(|end| end.0), Some(StepState::Failed));
}

#[test]
fn a_model_call_begins_once_its_gate_let_it() {
    let mut run = begun(|step| guarded_at(step, GateTrigger::OnModelCall));
    let effects = run.feed(briefed("a"));
    assert_eq!(asked(&effects), ["gates of request 0"]);
    let effects = passes(&mut run, &effects);
    assert_eq!(asked(&effects), ["model 1"]);
    assert_eq!((decided(&run).point, decided(&run).call), (GatePoint::Request, 1));
    run.feed(uses(1, &["read"]));
    let effects = run.feed(tool_ended(1, 0));
    assert_eq!(asked(&effects), ["gates of request 1"]);
    let effects = run.feed(said(&effects, GateAction::Block, None));
    fails(&mut run, &effects, "gate `guard` blocked the model call: not so");
}

#[test]
fn a_reply_that_is_blocked_calls_no_tool() {
    let mut run = talking(|step| guarded_at(step, GateTrigger::OnModelReply));
    let effects = run.feed(uses(1, &["read"]));
    assert_eq!(asked(&effects), ["gates of reply 1"]);
    let effects = run.feed(said(&effects, GateAction::Block, None));
    fails(&mut run, &effects, "gate `guard` blocked the reply of the model: not so");
}

#[test]
fn a_reply_that_passes_is_judged_as_without_a_gate() {
    let mut run = talking(|step| guarded_at(step, GateTrigger::OnModelReply));
    let effects = run.feed(answers(1, None));
    assert_eq!(asked(&passes(&mut run, &effects)), ["end: done"]);
}

#[test]
fn a_result_that_is_blocked_is_withheld_and_the_agent_goes_on() {
    let mut run = talking(|step| guarded_at(step, GateTrigger::OnToolResult));
    run.feed(uses(1, &["read"]));
    let effects = run.feed(tool_ended(1, 0));
    assert_eq!(asked(&effects), ["gates of result 1.0"]);
    let effects = run.feed(said(&effects, GateAction::Block, None));
    assert_eq!(asked(&effects), ["model 2, 0 refused: gate `guard` blocked the result: not so"]);
}

#[test]
fn a_result_that_is_rewritten_replaces_the_other_one_also_after_a_crash() {
    let mut run = talking(|step| guarded_at(step, GateTrigger::OnToolResult));
    run.feed(uses(1, &["read", "read"]));
    let effects = run.feed(tool_ended(1, 0));
    let revised = RevisedResult { result: Sha256Digest::of_bytes(b"other"), tokens: 3 };
    let effects = run.feed(said(&effects, GateAction::Continue, Some(revised.clone())));
    assert_eq!(asked(&effects), ["tool 1.1"]);
    assert_eq!(decided(&run).revised, Some(revised.clone()));
    run.resume();
    let record = run.machine.state();
    let text = serde_json::to_string(record).unwrap();
    assert!(text.contains(&revised.result.to_string()), "{text}");
}

#[test]
fn what_gates_were_asked_about_when_the_engine_died_is_asked_again() {
    let mut run = talking(|step| guarded_at(step, GateTrigger::OnToolResult));
    run.feed(uses(1, &["read"]));
    run.feed(tool_ended(1, 0));
    run.resume();
    let effects = run.feed(briefed("a"));
    assert_eq!(asked(&effects), ["gates of result 1.0"]);
    assert_eq!(asked(&passes(&mut run, &effects)), ["model 2"]);
}

/// What gates say of the first model call, with texts for it.
fn gives(run: &mut Killed, supplement: CallSupplement) -> Vec<Effect> {
    let effects = run.feed(briefed("a"));
    let InputKind::Gated { task_id, point, gated, exchange: Some(mut exchange), .. } =
        said(&effects, GateAction::Continue, None)
    else {
        unreachable!("it is about a conversation")
    };
    exchange.supplement = supplement;
    let (tool_call, arguments, exchange) = (None, None, Some(exchange));
    run.feed(InputKind::Gated { task_id, point, gated, tool_call, arguments, exchange })
}

#[test]
fn context_of_gates_is_a_part_of_one_call_and_of_its_reserve_also_after_a_crash() {
    let mut run = begun(|step| guarded_at(step, GateTrigger::OnModelCall));
    let text = Sha256Digest::of_bytes(b"context");
    let context = AddedContext { text, tokens: 7, untrusted: Some("gate guard".into()) };
    let effects = gives(&mut run, CallSupplement { context: Some(context), reply: None });
    assert_eq!(asked(&effects), ["model 1, 7 tokens more"]);
    run.resume();
    assert_eq!(asked(&run.feed(briefed("a"))), ["model 1, 7 tokens more"]);
    run.feed(uses(1, &["read"]));
    let effects = run.feed(tool_ended(1, 0));
    assert_eq!(asked(&passes(&mut run, &effects)), ["model 2"], "the next call is without it");
}

#[test]
fn context_that_leaves_no_room_fails_the_attempt_before_the_call() {
    let mut run = begun(|step| guarded_at(step, GateTrigger::OnModelCall));
    let text = Sha256Digest::of_bytes(b"context");
    let context = AddedContext { text, tokens: 10_000, untrusted: None };
    let effects = gives(&mut run, CallSupplement { context: Some(context), reply: None });
    let [Effect::EndAgent(AgentEnding { exit, .. })] = effects.as_slice() else {
        panic!("it ends: {effects:?}")
    };
    assert!(exit.to_string().contains("context window"), "{exit}");
}

#[test]
fn a_call_that_a_gate_answers_is_answered_so_also_after_a_crash() {
    let mut run = begun(|step| guarded_at(step, GateTrigger::OnModelCall));
    let (gate, reply) = (GateId::parse("guard").unwrap(), Sha256Digest::of_bytes(b"reply"));
    let given = CallSupplement { context: None, reply: Some(GateReply { gate, reply }) };
    assert_eq!(asked(&gives(&mut run, given)), ["model 1, answered by guard"]);
    run.resume();
    assert_eq!(asked(&run.feed(briefed("a"))), ["model 1, answered by guard"]);
    assert_eq!(asked(&run.feed(answers(1, None))), ["end: done"]);
}
