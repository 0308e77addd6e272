//! The plan that undoes what a run did, as the plan of that run names it.

use std::time::Duration;

use crate::plans::work::NestedPlan;
use crate::summary::show_use;

/// A plan that undoes a successful run, on request and for a while.
#[derive(Clone, Debug)]
pub struct UndoPlan {
    /// The plan, with its parameters as templates over the run that it undoes.
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
