use serde::{Deserialize, Serialize};
use serde_json::json;
use wf_base::{digest::Sha256Digest, duration_text::without_durations, name::Name};
use wf_core::agent::{ModelReply, ModelRequest};
use wf_model::{Money, TokenUsage};

use super::portable::map_strings;
use crate::{
    FailedModelCall, ModelCallError, ModelCallResult,
    retry::{ModelFailure, ModelFailureKind},
};

/// A call of a model and its result, as a cassette has it. It has no times, so the same exchange is the same text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedExchange {
    /// The model that was called, by its name in the workspace.
    pub model: Name,
    /// The recording whose conversation comes before the messages of the request, by its name without `.json`; `None`
    /// if the request is whole, as it is wherever it is not in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    pub request: ModelRequest,
    /// The fallback that replied instead of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replied_by: Option<Name>,
    /// The failures of the models before the one that replied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<RecordedFailure>,
    /// The reply, or the failures.
    #[serde(flatten)]
    pub outcome: RecordedOutcome,
    /// The tokens of all tries.
    pub usage: TokenUsage,
    /// The cost of all tries, in millionths of a US dollar.
    #[serde(default, rename = "cost_micro_usd", skip_serializing_if = "Money::is_zero")]
    pub cost: Money,
    pub tries: u32,
}

/// The outcome of a recorded call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedOutcome {
    /// The model, or a fallback, replied.
    Reply(ModelReply),
    /// None replied.
    Failures(Vec<RecordedFailure>),
}

/// A recorded failure of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFailure {
    pub model: Name,
    pub kind: ModelFailureKind,
    /// The reason in a sentence.
    pub message: String,
    /// The number of requests made to it; 0 in recordings that do not say so.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tries: u32,
}

/// Returns the digest to find a request to a model by: of its JSON text with sorted keys, and without the
/// durations the programs of tools print.
pub fn request_digest(model: &Name, request: &ModelRequest) -> Sha256Digest {
    let mut value = json!({ "model": model, "request": request });
    // A schema has its keys in the order of the plan, which does not change its meaning.
    value.sort_all_objects();
    map_strings(&mut value, |text| Some(without_durations(text)));
    Sha256Digest::of_bytes(value.to_string().as_bytes())
}

impl RecordedFailure {
    fn of(failed: &FailedModelCall) -> Self {
        let FailedModelCall { model, failure, tries } = failed;
        Self { model: model.clone(), kind: failure.kind, message: failure.message.clone(), tries: *tries }
    }

    fn into_failure(self) -> FailedModelCall {
        let failure = ModelFailure::new(self.kind, self.message);
        FailedModelCall { model: self.model, failure, tries: self.tries }
    }
}

impl RecordedExchange {
    /// Returns a call with its result as it is recorded.
    pub fn from_call(model: &Name, request: &ModelRequest, result: &ModelCallResult) -> Self {
        let outcome = match &result.outcome {
            Ok(reply) => RecordedOutcome::Reply(reply.clone()),
            Err(error) => RecordedOutcome::Failures(error.failures.iter().map(RecordedFailure::of).collect()),
        };
        Self {
            model: model.clone(),
            continues: None,
            request: request.clone(),
            replied_by: (result.model != *model).then(|| result.model.clone()),
            passed_over: result.failed_calls.iter().map(RecordedFailure::of).collect(),
            outcome,
            usage: result.usage,
            cost: result.cost,
            tries: result.tries,
        }
    }

    pub fn digest(&self) -> Sha256Digest {
        request_digest(&self.model, &self.request)
    }

    /// Returns the result of the call, with the recorded amounts: a budget then ends a repeated run where it ended
    /// the recorded one.
    pub fn into_result(self) -> ModelCallResult {
        let outcome = match self.outcome {
            RecordedOutcome::Reply(reply) => Ok(reply),
            RecordedOutcome::Failures(failures) => {
                let failures = failures.into_iter().map(RecordedFailure::into_failure);
                Err(ModelCallError { failures: failures.collect() })
            }
        };
        ModelCallResult {
            model: self.replied_by.unwrap_or(self.model),
            outcome,
            failed_calls: self.passed_over.into_iter().map(RecordedFailure::into_failure).collect(),
            tries: self.tries,
            usage: self.usage,
            cost: self.cost,
            breakers: Vec::new(),
            duration_ms: 0,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(tries: &u32) -> bool {
    *tries == 0
}
