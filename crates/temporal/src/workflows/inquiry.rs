//! Questions to a workflow that leave nothing in its history: an update always refused, with the answer as the reason.
//!
//! A query is answered by any worker, from a history that may end in the middle of a workflow task; the library keeps what it
//! decided about such a half, and goes on with it. An update comes with a workflow task, so it is answered from what the
//! history has of earlier tasks, which is durable; and the server forgets the task of one that is refused.

use std::{error::Error, time::Duration};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use temporalio_client::{
    Client, WorkflowExecuteUpdateOptions, WorkflowHandle,
    errors::WorkflowUpdateError,
    tonic::{Code, Status},
};
use temporalio_common::{HasWorkflowDefinition, UpdateDefinition};

/// The beginning of the reason of a refusal that is an answer.
const ANSWER: &str = "wf.answer.v1 ";

/// The time an answer may take. The server itself waits for as long as nobody drives the workflow.
const PATIENCE: Duration = Duration::from_secs(10);

/// The errors of a server while nobody drives a workflow, or more ask it than it takes at once.
const SILENCE: [Code; 5] = [
    Code::Cancelled,
    Code::DeadlineExceeded,
    Code::FailedPrecondition,
    Code::ResourceExhausted,
    Code::Unavailable,
];

/// A question about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunInquiry {
    /// The news for the followers of the run: an optional [`RunNews`](crate::messages::order::RunNews), `null` before
    /// it has begun.
    News,
    /// The [`WorkWish`](crate::messages::order::WorkWish) about the work of a number.
    Wish(u64),
}

/// The reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum InquiryError {
    /// The workflow is over, or unknown.
    #[error("the workflow is over, or the Temporal server does not know it")]
    Over,
    /// A worker of an earlier version drives it, which knows no such questions.
    #[error("a worker of an earlier version drives the run")]
    Foreign,
    /// Nobody answers now.
    #[error("no worker answers for the run")]
    Silent,
    /// The server refuses.
    #[error("the Temporal server refuses the question: {0}")]
    Refused(String),
}

/// Returns the refusal as an answer.
pub fn answer(value: &impl Serialize) -> Box<dyn Error + Send + Sync> {
    match serde_json::to_string(value) {
        Ok(text) => format!("{ANSWER}{text}").into(),
        Err(error) => error.into(),
    }
}

/// Returns the answer that is the reason of a refusal; `None`: it is refused for another reason.
fn answer_in<T: DeserializeOwned>(reason: &str) -> Option<T> {
    reason.strip_prefix(ANSWER).and_then(|text| serde_json::from_str(text).ok())
}

/// Asks a workflow, by an update of it that is always refused.
pub async fn inquire<W, U, T>(
    handle: &WorkflowHandle<Client, W>,
    update: U,
    inquiry: U::Input,
) -> Result<T, InquiryError>
where
    W: HasWorkflowDefinition,
    U: UpdateDefinition<Workflow = W::Run, Output = ()>,
    U::Input: Send,
    T: DeserializeOwned,
{
    let answer = handle.execute_update(update, inquiry, WorkflowExecuteUpdateOptions::default());
    match tokio::time::timeout(PATIENCE, answer).await {
        Err(_) => Err(InquiryError::Silent),
        Ok(Err(WorkflowUpdateError::Failed(failure))) => {
            answer_in(&failure.message).ok_or(InquiryError::Foreign)
        }
        Ok(Err(WorkflowUpdateError::NotFound(_))) => Err(InquiryError::Over),
        Ok(Err(WorkflowUpdateError::Rpc(status))) if is_silence(&status) => Err(InquiryError::Silent),
        Ok(Err(error)) => Err(InquiryError::Refused(error.to_string())),
        Ok(Ok(())) => Err(InquiryError::Foreign),
    }
}

/// True if an error says nobody answers now: the worker driving a run may be lost, and another one takes it over.
pub(crate) fn is_silence(status: &Status) -> bool {
    SILENCE.contains(&status.code())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::order::WorkWish;

    #[test]
    fn an_answer_comes_out_of_the_refusal_as_it_went_in_and_other_refusals_are_none() {
        let refusal = answer(&WorkWish::Kill).to_string();
        assert_eq!(answer_in::<WorkWish>(&refusal), Some(WorkWish::Kill));
        assert_eq!(answer_in::<Option<WorkWish>>(&answer(&None::<WorkWish>).to_string()), Some(None));
        assert_eq!(answer_in::<WorkWish>("No update handler registered for update name inquire"), None);
        assert_eq!(answer_in::<WorkWish>(&format!("{ANSWER}{{}}")), None);
    }
}
