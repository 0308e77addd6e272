//! Parts of the conversation of an agent that need an approval: a model call, a reply, a result.

use wf_base::digest::Sha256Digest;
use wf_core::{
    gate::GateAction,
    machine::{Effect, ExchangeSubject, GatePoint, RequestDecision, RevisedResult},
};
use wf_model::GateTrigger;

use super::{
    agents::{answers, asked, begun, briefed, talking, tool_ended, uses},
    answers::guarded_at,
    exchanges::{decided, fails, passes, said},
    killed::Killed,
    tool_approvals::{answered, request},
};

fn wants(run: &mut Killed, effects: &[Effect], revised: Option<RevisedResult>) -> ExchangeSubject {
    let effects = run.feed(said(effects, GateAction::RequireApproval, revised));
    let ask = request(&effects);
    assert_eq!((ask.tool_call, ask.show["part"].as_str()), (None, Some("a")));
    ask.exchange.expect("it is about a conversation")
}

/// A run that waits for an approval of the first reply, which calls a tool.
fn with_reply() -> Killed {
    let mut run = talking(|step| guarded_at(step, GateTrigger::OnModelReply));
    let effects = run.feed(uses(1, &["read"]));
    let about = wants(&mut run, &effects, None);
    assert_eq!((about.passed.point, about.passed.call), (GatePoint::Reply, 1));
    assert_eq!(about.body, Sha256Digest::of_bytes(b"part"));
    run
}

#[test]
fn an_approval_lets_exactly_its_request_be_sent() {
    let mut run = begun(|step| guarded_at(step, GateTrigger::OnModelCall));
    let effects = run.feed(briefed("a"));
    assert_eq!(wants(&mut run, &effects, None).passed.call, 1);
    assert_eq!(asked(&run.feed(answered(1, RequestDecision::Approved))), ["watch"]);
    assert_eq!(asked(&run.feed(briefed("a"))), ["model 1"]);
    assert_eq!((decided(&run).point, decided(&run).blocked), (GatePoint::Request, None));
    run.feed(uses(1, &["read"]));
    // The next request is another one.
    let effects = run.feed(tool_ended(1, 0));
    assert_eq!(asked(&effects), ["gates of request 1"]);
    assert_eq!(wants(&mut run, &effects, None).passed.call, 2);
}

#[test]
fn an_approval_of_a_reply_lets_its_tools_be_called_also_after_a_crash() {
    let mut run = with_reply();
    assert_eq!(asked(&run.resume()), [""; 0], "nothing but the question");
    run.feed(answered(1, RequestDecision::Approved));
    assert_eq!(asked(&run.resume()), ["watch"]);
    assert_eq!(asked(&run.feed(briefed("a"))), ["tool 1.0"]);
    // It is used up: the next reply is asked about.
    run.feed(tool_ended(1, 0));
    assert_eq!(asked(&run.feed(answers(2, None))), ["gates of reply 2"]);
}

#[test]
fn a_reply_that_is_denied_fails_the_attempt_also_after_a_crash() {
    for crash in [false, true] {
        let mut run = with_reply();
        run.feed(answered(1, RequestDecision::Denied));
        if crash {
            run.resume();
        }
        let effects = run.feed(briefed("a"));
        fails(&mut run, &effects, "the reply of the model was not approved: gate `guard`: denied: no");
    }
}

#[test]
fn a_result_that_is_denied_is_withheld() {
    let mut run = talking(|step| guarded_at(step, GateTrigger::OnToolResult));
    run.feed(uses(1, &["read"]));
    let effects = run.feed(tool_ended(1, 0));
    wants(&mut run, &effects, None);
    run.feed(answered(1, RequestDecision::Denied));
    let withheld = "model 2, 0 refused: the result was not approved: gate `guard`: denied: no";
    assert_eq!(asked(&run.feed(briefed("a"))), [withheld]);
}

#[test]
fn what_is_approved_is_the_result_as_gates_rewrote_it() {
    let mut run = talking(|step| guarded_at(step, GateTrigger::OnToolResult));
    run.feed(uses(1, &["read"]));
    let effects = run.feed(tool_ended(1, 0));
    let revised = RevisedResult { result: Sha256Digest::of_bytes(b"other"), tokens: 3 };
    let about = wants(&mut run, &effects, Some(revised.clone()));
    assert_eq!(about.passed.revised, Some(revised.clone()));
    run.feed(answered(1, RequestDecision::Approved));
    assert_eq!(decided(&run).revised, Some(revised));
    assert_eq!(asked(&run.feed(briefed("a"))), ["model 2"]);
}

#[test]
fn what_has_passed_is_not_asked_about_again() {
    let mut run = talking(|step| guarded_at(step, GateTrigger::OnModelReply));
    let effects = run.feed(uses(1, &["read"]));
    assert_eq!(asked(&passes(&mut run, &effects)), ["tool 1.0"]);
    run.resume();
    assert_eq!(asked(&run.feed(briefed("a"))), ["tool 1.0"]);
}
