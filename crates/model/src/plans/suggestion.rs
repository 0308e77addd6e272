//! The output of a plan where its runs suggest what may be done next.

use crate::{plans::work::NestedPlan, summary::show_use};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use wf_base::name::Name;

/// An output of a plan that has suggestions, and the plans these may start.
#[derive(Clone, Debug)]
pub struct SuggestionSource {
    /// The output: a list of suggestions.
    pub output: Name,
    /// The plans, of which a suggestion names one.
    pub plans: Vec<SuggestedPlan>,
    /// The limits on what is kept of them.
    pub limits: SuggestionLimits,
}

// The plans that its runs may suggest. A person starts one, with the approvals that it needs.
view! { suggests: SuggestionSource in Work {
    plain output,
    plain plans = &plans.iter().map(|plan| plan.path.clone()).collect::<Vec<_>>(),
} aside limits }

/// A plan a suggestion may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuggestedPlan {
    /// Its path as the plan names it.
    pub name: String,
    /// Its path, relative to the workspace.
    pub path: String,
}

/// The limits on the suggestions that are kept, so that people are not asked too often (Silas 5.1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SuggestionLimits {
    /// The most that wait at the same time.
    pub max_pending: u32,
    /// The most that are kept within an hour.
    pub max_per_hour: u32,
    /// The time in which the same is not suggested twice, in milliseconds.
    pub repeat_ms: u64,
    /// The time after a dismissal in which the same plan is not suggested, in milliseconds.
    pub cooldown_ms: u64,
}

impl Default for SuggestionLimits {
    fn default() -> Self {
        const MINUTE: u64 = 60_000;
        Self { max_pending: 5, max_per_hour: 6, repeat_ms: 180 * MINUTE, cooldown_ms: 120 * MINUTE }
    }
}

/// A plan undoing a successful run, on request and for a while.
#[derive(Clone, Debug)]
pub struct UndoPlan {
    /// The plan, with its parameters as templates over the run it undoes.
    pub nested: NestedPlan,
    /// The time after the end of that run in which it may be started.
    pub within: Duration,
}

// The plan that undoes a run, which is shown like a used one.
view! { undo: UndoPlan in Effort {
    own nested = show_use,
    plain within,
} }

impl UndoPlan {
    /// The time if the plan names none.
    pub const WITHIN: Duration = Duration::from_mins(5);
}
