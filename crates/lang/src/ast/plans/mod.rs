//! The declarations of plans: one with steps, a single agent, a dag of other plans.
//!
//! A dag and a single agent become a plan with steps as they are decoded, so later code knows plans alone.
//!
//! **Invariant:** `PlanSpec` has the keys of a plan with their locations, for any kind of file.
//!
//! Start at `plan`, then `dag` and `single_agent`; `planner` and `replan` are settings of a plan,
//! `interaction` the rules for one more.

mod dag;
mod interaction;
mod plan;
pub(super) mod planner;
mod replan;
mod single_agent;

pub use dag::{DagNodeSpec, DagPolicySpec, DagSpec};
pub use plan::{DagKind, PlanKind, PlanSpec, PolicySpec, SuggestsSpec, UndoSpec};
pub use planner::PlannerSpec;
pub use replan::ReplanSpec;
