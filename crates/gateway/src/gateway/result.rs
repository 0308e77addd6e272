use std::fmt;

use wf_base::name::Name;
use wf_core::{agent::ModelReply, health::BreakerNote};
use wf_model::{Money, TokenUsage};

use crate::{
    cassette::CassetteError,
    retry::{CallFailureClass, ModelFailure, ModelFailureKind},
};

/// The result of a call, with its retries and fallbacks.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCallResult {
    /// The model with the reply; without any, the one called first.
    pub model: Name,
    /// The reply, or the failures of all models.
    pub outcome: Result<ModelReply, ModelCallError>,
    /// The failures of the models before the one that replied.
    pub failed_calls: Vec<FailedModelCall>,
    /// The number of requests that were made.
    pub tries: u32,
    /// The tokens of all tries.
    pub usage: TokenUsage,
    /// The cost of all tries.
    pub cost: Money,
    /// The changes of breakers it caused, in order.
    pub breakers: Vec<BreakerNote>,
    /// The duration, with the delays between tries, in milliseconds.
    pub duration_ms: u64,
}

impl ModelCallResult {
    /// Returns the same result if it was recorded. Else it is a failure, and keeps its cost.
    #[must_use]
    pub fn with_recording(mut self, recorded: Result<(), CassetteError>) -> Self {
        if let Err(error) = recorded {
            let failure = ModelFailure::new(ModelFailureKind::Unrecorded, error.to_string());
            self.outcome = Err(ModelCallError::from_failure(&self.model, failure));
        }
        self
    }
}

/// The last failure of a model within a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedModelCall {
    pub model: Name,
    pub failure: ModelFailure,
    /// The number of requests made to it.
    pub tries: u32,
}

impl FailedModelCall {
    /// Returns the reason, with the number of tries if there were several.
    pub fn reason(&self) -> String {
        let Self { failure, tries, .. } = self;
        if *tries > 1 { format!("{failure} ({tries} tries)") } else { failure.to_string() }
    }
}

impl fmt::Display for FailedModelCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "model `{}`: {}", self.model, self.reason())
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
    pub(crate) fn from_failure(model: &Name, failure: ModelFailure) -> Self {
        Self { failures: vec![FailedModelCall { model: model.clone(), failure, tries: 0 }] }
    }

    /// Returns its class: transient if any model may reply later.
    pub fn class(&self) -> CallFailureClass {
        let is_transient = |call: &FailedModelCall| call.failure.class() == CallFailureClass::Transient;
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
            let between = if at == 0 { "" } else { "; fallback " };
            write!(f, "{between}{failure}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ModelCallError {}
