//! The plan that undoes what a run did, as the plan of that run names it.

use std::time::Duration;

use super::NestedPlan;

/// A plan that undoes a successful run, on request and for a while.
#[derive(Clone, Debug)]
pub struct UndoPlan {
    /// The plan, with its parameters as templates over the run that it undoes.
    pub nested: NestedPlan,
    /// The time after the end of that run in which it may be started.
    pub within: Duration,
}

impl UndoPlan {
    /// The time if the plan names none.
    pub const WITHIN: Duration = Duration::from_mins(5);
}
