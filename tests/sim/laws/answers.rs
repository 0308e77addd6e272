use serde_json::json;

use wf_core::machine::{AnswerOptions, ApprovalOutcome, ApprovalRequest, EventKind, TypedAnswer, WorkExit};
use wf_model::{JsonObject, StepWork};

use super::{
    super::{
        ledger::step_of,
        look::{Look, Seen},
    },
    ensure,
};

/// The outputs of a decision are what people saw and what they answered.
pub fn answered(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let EventKind::AttemptEnded { attempt, how: WorkExit::Completed, outputs, .. } = &event.fact else {
        return Ok(());
    };
    let place = &attempt.task_id;
    if !matches!(step_of(look.plan(), place).work, StepWork::Approve(_)) {
        return Ok(());
    }
    let Some((ask, given)) = look.decided().agreed.get(place) else {
        return Err(format!("{place} ends with {outputs:?}, and nobody agreed"));
    };
    let due = outputs_of(ask, given);
    ensure(due.as_ref() == Some(outputs), || format!("{place} ends with {outputs:?}, and {due:?} was signed"))
}

/// What follows from an answer; `None`: it was not to be given.
fn outputs_of(ask: &ApprovalRequest, given: &ApprovalOutcome) -> Option<JsonObject> {
    let mut outputs = ask.show.clone();
    let (name, value) = match (&ask.answer, &given.answer) {
        (None, None) => return Some(outputs),
        (Some(AnswerOptions::Choose(words)), Some(TypedAnswer::Choice(word))) if words.contains(word) => {
            ("choice", json!(word))
        }
        (Some(AnswerOptions::Edit { text, .. }), None) => ("text", json!(text)),
        (Some(AnswerOptions::Edit { text, .. }), Some(TypedAnswer::Text(new))) if new != text => {
            ("text", json!(new))
        }
        _ => return None,
    };
    outputs.insert(name.into(), value);
    Some(outputs)
}
