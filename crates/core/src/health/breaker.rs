use serde::{Deserialize, Serialize};

use wf_base::name::Name;
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

/// A change of the breaker of a model, as the call that caused it records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BreakerNote {
    /// The model.
    pub model: Name,
    /// The change.
    #[serde(flatten)]
    pub change: BreakerChange,
}

impl std::fmt::Display for BreakerNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { model, change } = self;
        match change {
            BreakerChange::Opened { until } => {
                write!(f, "breaker of model `{model}` opened: it is not called until {until}")
            }
            BreakerChange::Closed => write!(f, "breaker of model `{model}` closed: it replies again"),
        }
    }
}
