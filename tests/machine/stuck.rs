//! Agents that are stuck: a person guides one attempt more, or lets the step fail.

use wf_core::machine::{
    ApprovalOutcome, ApprovalRequest, AttemptEnd, Effect, EventKind, InputKind, RequestDecision, StepState,
    TimerKind, WorkExit,
};
use wf_model::{FailureClass, OnStuck};

use super::{
    agents::begun,
    killed::{Killed, attempt, end_of},
};

fn failed(number: u32) -> InputKind {
    let exit = WorkExit::Error { reason: "no answer".into(), failure_class: FailureClass::Logical };
    InputKind::Ended(AttemptEnd::new(attempt("a", number), exit))
}

fn decided(number: u32, decision: RequestDecision, text: &str) -> InputKind {
    let given =
        ApprovalOutcome { decision, by: Vec::new(), tokens: Vec::new(), reason: text.into(), answer: None };
    InputKind::Answered { number, given }
}

fn asks(effects: &[Effect]) -> Vec<ApprovalRequest> {
    let asks = effects.iter().filter_map(|effect| match effect {
        Effect::Ask(ask) => Some((**ask).clone()),
        _ => None,
    });
    asks.collect()
}

/// A run whose agent is stuck after its only attempt.
fn stuck() -> Killed {
    let mut run = begun(|step| step.on_stuck = OnStuck::Escalate);
    let asked = asks(&run.feed(failed(1)));
    assert_eq!(asked.len(), 1);
    assert!(asked[0].is_question() && asked[0].stuck.as_ref().is_some_and(|stuck| stuck.attempt == 1));
    assert!(asked[0].message.contains("no answer"), "{}", asked[0].message);
    run
}

#[test]
fn an_answer_grants_one_attempt_that_is_told_it() {
    let mut run = stuck();
    assert_eq!(asks(&run.resume()).len(), 1, "another engine asks again");
    let effects = run.feed(decided(1, RequestDecision::Answered, "look closer"));
    let timer = TimerKind::Retry(attempt("a", 2));
    assert!(
        effects.iter().any(|effect| matches!(effect, Effect::Wake { timer: woken, .. } if *woken == timer))
    );
    let effects = run.feed(InputKind::Woke { timer });
    let told = effects.iter().find_map(|effect| match effect {
        Effect::Start { correction, .. } => correction.as_ref()?.person_guidance.clone(),
        _ => None,
    });
    assert_eq!(told.as_deref(), Some("look closer"));
    let again = asks(&run.feed(failed(2)));
    assert_eq!(again.len(), 1, "the next failure is asked about, too");
    assert_eq!(again[0].request, 2);
}

#[test]
fn without_an_answer_the_step_fails_with_its_own_reason() {
    for (decision, why) in
        [(RequestDecision::Denied, "no answer (denied: not worth it)"), (RequestDecision::Approved, "")]
    {
        let mut run = stuck();
        run.feed(decided(1, decision, "not worth it"));
        let end = end_of(&run.events, "a");
        let expected = (!why.is_empty()).then(|| (StepState::Failed, why.to_owned()));
        assert_eq!(end, expected, "an approval is no answer");
    }
    let mut run = stuck();
    run.now = 8 * 24 * 3_600_000;
    run.feed(InputKind::Woke { timer: TimerKind::Ask { number: 1 } });
    let (state, reason) = end_of(&run.events, "a").unwrap();
    assert_eq!(state, StepState::Failed);
    assert!(reason.starts_with("no answer (no answer within "), "{reason}");
}

#[test]
fn a_run_that_ends_withdraws_the_question() {
    let mut run = stuck();
    run.cancel();
    assert_eq!(end_of(&run.events, "a").unwrap().0, StepState::Cancelled);
    let withdrawn = run.events.iter().any(|event| match &event.fact {
        EventKind::ApprovalResolved { given, .. } => given.decision == RequestDecision::Withdrawn,
        _ => false,
    });
    assert!(withdrawn);
    let before = run.events.len();
    run.feed(decided(1, RequestDecision::Answered, "too late"));
    assert_eq!(run.events.len(), before);
}
