use std::fmt;

use wf_base::name::Name;
use wf_core::agent::{ModelReply, TokenUsage};
use wf_model::Money;

use crate::retry::{CallFailureClass, ModelFailure};

/// The result of a call, with its retries and fallbacks.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCallResult {
    /// The model that replied; if none did, the one that was called first.
    pub model: Name,
    /// The reply, or the failures of all models.
    pub outcome: Result<ModelReply, ModelCallError>,
    /// The failures of the models before the one that replied.
    pub passed_over: Vec<FailedModelCall>,
    /// The number of requests that were made.
    pub tries: u32,
    /// The tokens of all tries.
    pub usage: TokenUsage,
    /// The cost of all tries.
    pub cost: Money,
    /// The duration, with the delays between tries, in milliseconds.
    pub duration_ms: u64,
}

/// The last failure of a model within a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedModelCall {
    /// The model.
    pub model: Name,
    /// The failure.
    pub failure: ModelFailure,
}

impl fmt::Display for FailedModelCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "model `{}`: {}", self.model, self.failure)
    }
}

/// A call to which no model replied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCallError {
    /// The failure of each model, in the order of the calls.
    pub failures: Vec<FailedModelCall>,
}

impl ModelCallError {
    /// Makes the error of one model.
    pub(crate) fn of(model: &Name, failure: ModelFailure) -> Self {
        Self { failures: vec![FailedModelCall { model: model.clone(), failure }] }
    }

    /// Returns its class: transient if any model may reply later.
    pub fn class(&self) -> CallFailureClass {
        let is_transient = |one: &FailedModelCall| one.failure.class() == CallFailureClass::Transient;
        if self.failures.iter().any(is_transient) {
            CallFailureClass::Transient
        } else {
            CallFailureClass::Permanent
        }
    }
}

impl fmt::Display for ModelCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, failure) in self.failures.iter().enumerate() {
            let between = if at == 0 { "" } else { "; " };
            write!(f, "{between}{failure}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ModelCallError {}
