use serde::{Deserialize, Serialize};
use serde_json::json;
use wf_base::digest::Sha256Digest;
use wf_base::duration_text::without_durations;
use wf_base::name::Name;
use wf_core::agent::{ModelReply, ModelRequest, TokenUsage};
use wf_model::Money;

use super::portable::map_strings;
use crate::retry::{ModelFailure, ModelFailureKind};
use crate::{FailedModelCall, ModelCallError, ModelCallResult};

/// A call of a model and its result, as a cassette has it. It has no times, so the same exchange is the same text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedExchange {
    /// The model that was called, by its name in the workspace.
    pub model: Name,
    /// The request.
    pub request: ModelRequest,
    /// The fallback that replied instead of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replied_by: Option<Name>,
    /// The reply, or the failures.
    #[serde(flatten)]
    pub outcome: RecordedOutcome,
    /// The tokens of all tries.
    pub usage: TokenUsage,
    /// The cost of all tries, in millionths of a US dollar.
    #[serde(default, rename = "cost_micro_usd", skip_serializing_if = "Money::is_zero")]
    pub cost: Money,
    /// The number of tries.
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
    /// The model.
    pub model: Name,
    /// The kind.
    pub kind: ModelFailureKind,
    /// The reason in a sentence.
    pub message: String,
}

/// Returns the digest by which a request to a model is found: that of its JSON text with sorted keys, and without the
/// durations that the programs of tools print.
pub fn request_digest(model: &Name, request: &ModelRequest) -> Sha256Digest {
    let mut value = json!({ "model": model, "request": request });
    // A schema has its keys in the order of the plan, which does not change its meaning.
    value.sort_all_objects();
    map_strings(&mut value, |text| Some(without_durations(text)));
    Sha256Digest::of_bytes(value.to_string().as_bytes())
}

impl RecordedExchange {
    /// Returns a call with its result as it is recorded.
    pub fn of(model: &Name, request: &ModelRequest, result: &ModelCallResult) -> Self {
        let outcome = match &result.outcome {
            Ok(reply) => RecordedOutcome::Reply(reply.clone()),
            Err(error) => {
                let failures = error.failures.iter().map(|one| RecordedFailure {
                    model: one.model.clone(),
                    kind: one.failure.kind,
                    message: one.failure.message.clone(),
                });
                RecordedOutcome::Failures(failures.collect())
            }
        };
        Self {
            model: model.clone(),
            request: request.clone(),
            replied_by: (result.model != *model).then(|| result.model.clone()),
            outcome,
            usage: result.usage,
            cost: result.cost,
            tries: result.tries,
        }
    }

    /// Returns its digest.
    pub fn digest(&self) -> Sha256Digest {
        request_digest(&self.model, &self.request)
    }

    /// Returns the result of the call, with the recorded amounts: a budget then ends a repeated run where it ended
    /// the recorded one.
    pub fn into_result(self) -> ModelCallResult {
        let outcome = match self.outcome {
            RecordedOutcome::Reply(reply) => Ok(reply),
            RecordedOutcome::Failures(failures) => {
                let failures = failures.into_iter().map(|one| FailedModelCall {
                    failure: ModelFailure::new(one.kind, one.message),
                    model: one.model,
                });
                Err(ModelCallError { failures: failures.collect() })
            }
        };
        ModelCallResult {
            model: self.replied_by.unwrap_or(self.model),
            outcome,
            passed_over: Vec::new(),
            tries: self.tries,
            usage: self.usage,
            cost: self.cost,
            duration_ms: 0,
        }
    }
}
