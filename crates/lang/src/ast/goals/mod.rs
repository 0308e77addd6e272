//! The declaration of a goal: its schedule, its job or its repair, its notifications.
//!
//! **Invariant:** the checks and the repair of a goal become a plan, with the rules of plans.
//!
//! Start at `goal`.

mod goal;
mod job;
mod notify;
mod repair;
mod schedule;

pub use goal::{GoalKind, GoalSpec};
pub use job::JobSpec;
pub use notify::{NotifySpec, WebhookSpec};
pub use repair::RepairSpec;
pub use schedule::{
    DstSpec, ExclusionSpec, HoursExclusionSpec, MissedTimesSpec, RuleTimeSpec, ScheduleRuleSpec,
    TimedRuleSpec,
};
