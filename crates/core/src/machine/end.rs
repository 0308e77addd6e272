//! The end of a task.

use super::{Standing, StepState};
use wf_model::FailureClass;

/// The end of a task.
#[derive(Clone, Debug)]
pub(super) struct TaskCompletion {
    pub(super) state: StepState,
    pub(super) standing: Standing,
    pub(super) failure_class: Option<FailureClass>,
    pub(super) reason: String,
}

impl TaskCompletion {
    pub(super) fn success(standing: Standing) -> Self {
        Self { state: StepState::Succeeded, standing, failure_class: None, reason: String::new() }
    }

    pub(super) fn failure(standing: Standing, failure_class: Option<FailureClass>, reason: String) -> Self {
        Self { state: StepState::Failed, standing, failure_class, reason }
    }

    pub(super) fn skipped(reason: impl Into<String>) -> Self {
        let standing = Standing::Unchecked;
        Self { state: StepState::Skipped, standing, failure_class: None, reason: reason.into() }
    }

    pub(super) fn cancelled(reason: impl Into<String>) -> Self {
        Self { state: StepState::Cancelled, ..Self::skipped(reason) }
    }
}
