//! Tool calls of agents that need an approval, from gates or since untrusted text was read.

use std::{collections::BTreeMap, time::Duration};

use serde_json::json;
use wf_base::digest::Sha256Digest;
use wf_core::{
    gate::{GateAction, GateOutcome},
    machine::{
        ApprovalOutcome, ApprovalRequest, Effect, EventKind, GatePoint, InputKind, RequestDecision,
        ShownContent, TimerKind, ToolCallId,
    },
};
use wf_model::{JsonObject, Step, StepWork, UntrustedRule};

use super::{
    agents::{asked, briefed, collected, late, talking, tool, tool_ended, uses},
    answers::{guard, guarded},
    killed::{Killed, end_of},
};

fn arguments() -> ShownContent {
    ShownContent { digest: Sha256Digest::of_bytes(b"{}"), shown: json!({}) }
}

fn gated(id: ToolCallId, action: Option<GateAction>) -> InputKind {
    let results = action.map(|action| guard(action, "look at it")).into_iter().collect();
    InputKind::Gated {
        task_id: Some(id.attempt.task_id.clone()),
        point: GatePoint::Call,
        gated: GateOutcome { results, rewritten: JsonObject::new(), ..GateOutcome::default() },
        tool_call: Some(id),
        arguments: Some(Box::new(arguments())),
        exchange: None,
    }
}

pub(super) fn answered(number: u32, decision: RequestDecision) -> InputKind {
    let given =
        ApprovalOutcome { decision, by: Vec::new(), tokens: Vec::new(), reason: "no".into(), answer: None };
    InputKind::Answered { number, given }
}

pub(super) fn request(effects: &[Effect]) -> ApprovalRequest {
    let found = effects.iter().find_map(|effect| match effect {
        Effect::Ask(ask) => Some((**ask).clone()),
        _ => None,
    });
    found.expect("people are asked")
}

/// A run whose agent asked for two tools, and whose gate wants an approval of the first.
fn waiting(change: impl FnOnce(&mut Step)) -> Killed {
    let mut run = talking(|step| {
        guarded(step);
        change(step);
    });
    run.feed(uses(1, &["read", "read"]));
    let effects = run.feed(gated(tool(1, 0), Some(GateAction::RequireApproval)));
    let ask = request(&effects);
    let call = ask.tool_call.clone().expect("it is about a tool call");
    assert_eq!((call.attempt, call.call, call.position, call.tool.as_str()), (1, 1, 0, "read"));
    assert_eq!((call.arguments, &ask.show["arguments"]), (arguments().digest, &json!({})));
    run
}

/// An agent that reads, and whose `read` untrusted text closes.
fn closing(rule: UntrustedRule) -> impl FnOnce(&mut Step) {
    move |step| {
        if let StepWork::Agent(work) = &mut step.work {
            work.when_untrusted = BTreeMap::from([("read".to_owned(), rule)]);
        }
    }
}

fn untrusted(call: u32, position: u32) -> InputKind {
    match tool_ended(call, position) {
        InputKind::ToolEnded(mut end) => {
            end.untrusted = Some("read a.txt".into());
            InputKind::ToolEnded(end)
        }
        other => other,
    }
}

#[test]
fn an_approval_lets_exactly_its_call_begin() {
    let mut run = waiting(|_| {});
    assert_eq!(asked(&run.feed(answered(1, RequestDecision::Approved))), ["watch"]);
    assert_eq!(asked(&run.feed(briefed("a"))), ["tool 1.0"]);
    // The next call is another one: its gate is asked, and so are people.
    assert_eq!(asked(&run.feed(tool_ended(1, 0))), ["gates of 1.1"]);
    let effects = run.feed(gated(tool(1, 1), Some(GateAction::RequireApproval)));
    assert_eq!(request(&effects).request, 2);
    assert_eq!(asked(&run.feed(answered(1, RequestDecision::Approved))), [""; 0], "it is used up");
}

#[test]
fn an_approval_is_kept_and_used_once_if_the_engine_dies() {
    let mut run = waiting(|_| {});
    assert_eq!(asked(&run.resume()), [""; 0], "nothing but the question");
    run.feed(answered(1, RequestDecision::Approved));
    assert_eq!(asked(&run.resume()), ["watch"]);
    assert_eq!(asked(&run.feed(briefed("a"))), ["tool 1.0"]);
    assert_eq!(asked(&run.resume()), ["watch"]);
    assert_eq!(asked(&run.feed(briefed("a"))), ["tool 1.0"], "the call was under way");
    let begun = |fact: &EventKind| matches!(fact, EventKind::ToolCallStarted(_));
    assert_eq!(run.events.iter().filter(|event| begun(&event.fact)).count(), 1);
}

#[test]
fn a_refusal_is_the_result_of_the_call() {
    let mut run = waiting(|_| {});
    assert_eq!(asked(&run.feed(answered(1, RequestDecision::Denied))), ["watch"]);
    assert_eq!(asked(&run.feed(briefed("a"))), ["gates of 1.1"]);
    run.feed(gated(tool(1, 1), Some(GateAction::Continue)));
    let refused = "model 2, 0 refused: the call was not approved: gate `guard`: denied: no";
    assert_eq!(asked(&run.feed(tool_ended(1, 1))), [refused]);
}

#[test]
fn no_answer_in_time_is_a_refusal() {
    let mut run = waiting(|_| {});
    run.now += i64::try_from(Duration::from_hours(7 * 24).as_millis()).unwrap();
    assert_eq!(asked(&run.feed(InputKind::Woke { timer: TimerKind::Ask { number: 1 } })), ["watch"]);
    assert_eq!(asked(&run.feed(briefed("a"))), ["gates of 1.1"]);
}

#[test]
fn what_changed_meanwhile_is_asked_anew() {
    let mut run = waiting(|_| {});
    let ask = request(&run.feed(answered(1, RequestDecision::Void)));
    assert_eq!((ask.request, ask.tool_call.map(|call| call.position)), (2, Some(0)));
    assert_eq!(asked(&run.feed(answered(2, RequestDecision::Approved))), ["watch"]);
    assert_eq!(asked(&run.feed(briefed("a"))), ["tool 1.0"]);
}

#[test]
fn the_wait_for_people_is_no_time_of_the_agent() {
    let mut run = waiting(|step| step.timeout = Some(Duration::from_secs(5)));
    run.now += 60_000;
    assert_eq!(late(&mut run), [""; 0]);
    run.feed(answered(1, RequestDecision::Approved));
    assert_eq!(asked(&run.feed(briefed("a"))), ["tool 1.0"]);
    assert_eq!(late(&mut run), [""; 0]);
    run.now += 5000;
    assert_eq!(late(&mut run), ["kill"]);
}

#[test]
fn a_cancelled_agent_stops_asking_and_ends() {
    let mut run = waiting(|_| {});
    assert_eq!(asked(&run.cancel()), ["watch", "kill"]);
    assert_eq!(asked(&run.feed(briefed("a"))), ["end: cancelled"]);
    collected(&mut run, wf_core::machine::WorkExit::Cancelled);
    assert!(end_of(&run.events, "a").is_some());
}

#[test]
fn untrusted_text_closes_a_tool_at_once() {
    let mut run = talking(closing(UntrustedRule::Deny));
    assert_eq!(asked(&run.feed(uses(1, &["read", "read"]))), ["tool 1.0"]);
    let reason =
        "the plan does not allow `read` after untrusted text was read (read a.txt); go on without it";
    assert_eq!(asked(&run.feed(untrusted(1, 0))), [format!("model 2, 1 refused: {reason}")]);
    // It stays closed for an engine that goes on.
    run.resume();
    run.feed(briefed("a"));
    assert_eq!(asked(&run.feed(uses(2, &["read"]))), [format!("model 3, 0 refused: {reason}")]);
}

#[test]
fn untrusted_text_lets_people_be_asked_where_there_is_no_gate() {
    let mut run = talking(closing(UntrustedRule::Ask));
    run.feed(uses(1, &["read", "read"]));
    assert_eq!(asked(&run.feed(untrusted(1, 0))), ["gates of 1.1"]);
    let ask = request(&run.feed(gated(tool(1, 1), None)));
    assert_eq!(ask.message, "allow one call of `read`? · untrusted text was read before (read a.txt)");
    run.feed(answered(1, RequestDecision::Approved));
    assert_eq!(asked(&run.feed(briefed("a"))), ["tool 1.1"]);
}

#[test]
fn a_call_whose_arguments_nobody_can_read_is_not_asked_about() {
    let mut run = talking(guarded);
    run.feed(uses(1, &["read"]));
    let unread = match gated(tool(1, 0), Some(GateAction::RequireApproval)) {
        InputKind::Gated { task_id, point, gated, tool_call, .. } => {
            InputKind::Gated { task_id, point, gated, tool_call, arguments: None, exchange: None }
        }
        other => other,
    };
    let refused = "model 2, 0 refused: the call needs an approval, and its arguments cannot be read";
    assert_eq!(asked(&run.feed(unread)), [refused]);
}
