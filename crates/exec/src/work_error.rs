use std::time::Duration;

use wf_core::machine::WorkExit;
use wf_model::{EngineFailure, FailureClass};

/// The reason why a piece of work could not begin, or why its result is not usable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct WorkError {
    /// The reason in one sentence.
    pub reason: String,
    pub failure_class: FailureClass,
    /// The time for which a server asked not to be called again.
    pub retry_after: Option<Duration>,
}

impl WorkError {
    /// Returns a failure caused by the author.
    pub fn logical(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), failure_class: FailureClass::Logical, retry_after: None }
    }

    /// Returns a failure caused by the environment.
    pub fn environmental(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), failure_class: FailureClass::Environmental, retry_after: None }
    }

    /// Returns a failure of the engine's own, which shows nothing of the work.
    pub fn engine(failure: EngineFailure, reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), failure_class: failure.class(), retry_after: None }
    }
}

impl From<WorkError> for WorkExit {
    fn from(error: WorkError) -> Self {
        Self::Error { reason: error.reason, failure_class: error.failure_class }
    }
}

/// The stop request for a piece of work. It only escalates.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum StopLevel {
    /// The work continues.
    #[default]
    No,
    /// The work is asked to terminate and killed after its grace period.
    Gently,
    /// The work is killed.
    AtOnce,
}

impl StopLevel {
    /// Returns the receiver for unstoppable work.
    pub fn never() -> tokio::sync::watch::Receiver<Self> {
        tokio::sync::watch::channel(Self::No).1
    }
}
