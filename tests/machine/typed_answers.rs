//! Answers of people beyond yes: only one that is permitted lets the step end, and it is recorded before.

use serde_json::json;

use wf_core::machine::{
    AnswerOptions, ApprovalOutcome, ApprovalRequest, Effect, EventKind, InputKind, RequestDecision,
    StepState, TypedAnswer,
};
use wf_model::{AnswerKind, ApprovalRequirement, ApprovalStep, StepWork, expr::Template};

use super::killed::{Killed, single};

/// A run with one step, which asks for a text of at most 9 characters.
fn asking(draft: &str) -> Killed {
    let answer = AnswerKind::Edit { text: Template::literal(draft), max_length: 9 };
    Killed::new(single(|step| {
        step.work = StepWork::Approve(Box::new(ApprovalStep {
            message: Template::literal("Send it?"),
            show: Vec::new(),
            answer: Some(answer),
            needs: ApprovalRequirement::default(),
        }));
    }))
}

fn text(number: u32, text: &str) -> InputKind {
    let given = ApprovalOutcome {
        decision: RequestDecision::Approved,
        by: Vec::new(),
        tokens: Vec::new(),
        reason: String::new(),
        answer: Some(TypedAnswer::Text(text.into())),
    };
    InputKind::Answered { number, given }
}

fn requests(run: &Killed) -> Vec<&ApprovalRequest> {
    let requests = run.events.iter().filter_map(|event| match &event.fact {
        EventKind::ApprovalRequested(ask) => Some(&**ask),
        _ => None,
    });
    requests.collect()
}

#[test]
fn an_answer_is_recorded_before_the_step_ends_with_it() {
    let mut run = asking("draft");
    let options = AnswerOptions::Edit { text: "draft".into(), max_length: 9 };
    assert_eq!(requests(&run)[0].answer, Some(options));
    run.feed(text(1, "changed"));
    let resolved = run.events.iter().position(|event| {
        matches!(&event.fact, EventKind::ApprovalResolved { given, .. }
            if given.answer == Some(TypedAnswer::Text("changed".into())))
    });
    let ended = run.events.iter().position(|event| {
        matches!(&event.fact, EventKind::AttemptEnded { outputs, .. } if outputs["text"] == json!("changed"))
    });
    assert!(resolved.is_some() && resolved < ended, "{:?}", run.events);
}

#[test]
fn an_answer_that_is_not_permitted_lets_the_request_open() {
    let mut run = asking("draft");
    let before = run.events.len();
    for bad in ["too long a text", "draft"] {
        assert!(run.feed(text(1, bad)).is_empty());
        assert_eq!(run.events.len(), before);
    }
    // After a crash the same request is asked, and can still be answered.
    let asked = run.resume();
    assert!(asked.iter().any(|effect| matches!(effect, Effect::Ask(ask) if ask.request == 1)), "{asked:?}");
    run.feed(text(1, "short"));
    let given = run.events.iter().find_map(|event| match &event.fact {
        EventKind::AttemptEnded { outputs, .. } => outputs.get("text"),
        _ => None,
    });
    assert_eq!(given, Some(&json!("short")));
    let end = run.events.iter().find_map(|event| match &event.fact {
        EventKind::StepEnded { state, .. } => Some(*state),
        _ => None,
    });
    assert_eq!(end, Some(StepState::Succeeded));
}

#[test]
fn nobody_is_asked_what_nobody_could_answer() {
    let run = asking("a draft that is too long");
    assert!(requests(&run).is_empty());
    let reason = run.events.iter().find_map(|event| match &event.fact {
        EventKind::StepEnded { state: StepState::Failed, reason, .. } => Some(reason.as_str()),
        _ => None,
    });
    assert_eq!(reason, Some("the text of `answer.edit` has 24 characters, and may have 9"));
}
