//! How a place ends.

use super::{Standing, StepState};
use crate::model::Class;

/// How a place ends.
#[derive(Clone, Debug)]
pub(super) struct Final {
    pub(super) state: StepState,
    pub(super) standing: Standing,
    pub(super) class: Option<Class>,
    pub(super) why: String,
}

impl Final {
    pub(super) fn good(standing: Standing) -> Self {
        Self {
            state: StepState::Succeeded,
            standing,
            class: None,
            why: String::new(),
        }
    }

    pub(super) fn bad(standing: Standing, class: Option<Class>, why: String) -> Self {
        Self {
            state: StepState::Failed,
            standing,
            class,
            why,
        }
    }

    pub(super) fn skipped(why: impl Into<String>) -> Self {
        let standing = Standing::Unchecked;
        Self {
            state: StepState::Skipped,
            standing,
            class: None,
            why: why.into(),
        }
    }

    pub(super) fn cancelled(why: impl Into<String>) -> Self {
        Self {
            state: StepState::Cancelled,
            ..Self::skipped(why)
        }
    }
}
