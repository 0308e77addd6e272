use super::{Continuation, resume_in_background};
use crate::approve::{RequestName, SubmittedAnswer, submit_answer};
use crate::{Caller, CommandError};
use wf_sign::approval::QuorumState;

/// Records a signed answer to a request, and lets its run go on if the answers suffice. Returns what was done.
pub fn answer_and_resume(
    caller: &dyn Caller,
    name: &RequestName,
    token: &str,
) -> Result<String, CommandError> {
    let SubmittedAnswer { state, outermost } = submit_answer(caller, name, token)?;
    if let QuorumState::Open { by, required, .. } = state {
        return Ok(format!("recorded: {} of {required} answers\n", by.len()));
    }
    // The answer is recorded, whatever becomes of the run now.
    let next = resume_in_background(caller, &outermost)
        .unwrap_or_else(|error| Continuation::Refused(error.render()));
    Ok(format!("recorded: {}\n", next.text(&outermost)))
}
