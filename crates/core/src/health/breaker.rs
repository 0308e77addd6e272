use serde::{Deserialize, Serialize};

use super::CallTarget;
use wf_base::time::Moment;

/// A change of a breaker, which refuses calls of a failing target for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "breaker", rename_all = "snake_case")]
pub enum BreakerChange {
    /// It opened, or was kept open by a failed probe: no calls until then.
    Opened {
        /// The time of the next call.
        until: Moment,
    },
    /// A call succeeded, so it closed.
    Closed,
}

/// A change of the breaker of a target, as the call that caused it records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BreakerNote {
    /// The target.
    #[serde(flatten)]
    pub target: CallTarget,
    /// The change.
    #[serde(flatten)]
    pub change: BreakerChange,
}

impl std::fmt::Display for BreakerNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { target, change } = self;
        match change {
            BreakerChange::Opened { until } => {
                write!(f, "breaker of {target} opened: it is not called until {until}")
            }
            BreakerChange::Closed => write!(f, "breaker of {target} closed: it works again"),
        }
    }
}

/// An open breaker, which refuses a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not called until {until}, after {failures} failures in a row; the last one: {error}")]
pub struct OpenBreaker {
    /// The time of the next call.
    pub until: Moment,
    /// The number of failures in a row.
    pub failures: u32,
    /// The error of the last one.
    pub error: String,
}
