use super::{Continuation, resume_in_background};
use crate::{
    Caller, CommandError,
    approve::{RequestName, SubmittedAnswer, submit_answer},
};
use schemars::JsonSchema;
use serde::Serialize;
use wf_base::{name::RunId, untrusted::plain};
use wf_sign::approval::QuorumState;

/// A recorded answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AnswerRecord {
    /// A sentence about it and its run.
    pub text: String,
    /// The outermost run that it belongs to.
    pub run: RunId,
    /// True if its run continues without another act of a person.
    pub run_continues: bool,
}

/// Records a signed answer to a request, and resumes its run if the answers suffice.
pub fn answer_and_resume(
    caller: &dyn Caller,
    name: &RequestName,
    token: &str,
) -> Result<AnswerRecord, CommandError> {
    let SubmittedAnswer { state, outermost } = submit_answer(caller, name, token)?;
    if let QuorumState::Open { signers, required, .. } = state {
        let text = format!("recorded: {} of {required} answers", signers.len());
        return Ok(AnswerRecord { text, run: outermost, run_continues: false });
    }
    // The answer is recorded, whatever becomes of the run now.
    let continuation = resume_in_background(caller, &outermost)
        .unwrap_or_else(|error| Continuation::Refused(caller.failure_text(&error)));
    Ok(AnswerRecord {
        text: plain(&format!("recorded: {}", continuation.text(caller, &outermost))),
        run: outermost,
        run_continues: matches!(continuation, Continuation::Resumed | Continuation::Daemon),
    })
}
