//! The writing of plans by models (artoo v0.8, R1 and R2): the questions, and the rules for the replies.
//!
//! A [`TaskSpec`] is what a user wants, as a perceiver understood it. A planner gets it with the language, the
//! [`PlanningContext`] and the [`MemoryCalibration`], and replies with the text of a plan. Whoever can read plans
//! judges it; the [`PlanRepairs`] count what may still be asked again.
//!
//! A request for a plan is no run, but its calls are metered and recorded as those of a run: the [`PlanningMeter`] admits
//! each call, and a [`PlanningRecord`] is the fold of the [`PlanningEntry`]s stored.
//!
//! **Invariant:** the words of the user reach a planner unchanged, and no model writes them.
//! **Invariant:** a model is asked again at most once for each kind of mistake.
//! **Invariant:** no call is made that could exceed the budget.

mod calibration;
mod meter;
mod question;
mod record;
mod reply;
mod task;
#[cfg(test)]
mod tests;

pub use calibration::{CalibrationEntry, CalibrationTask, MemoryCalibration};
pub use meter::{AuthoringUsage, CallReserve, PlanningBudget, PlanningCallRefusal, PlanningMeter};
pub use question::{
    Clarification, LANGUAGE, MAX_CLARIFICATIONS, PAST_WISHES, PastWish, PlanRevision, PlanningContext,
    SkillSummary, append_answers, plan_question, revision_question,
};
pub use record::{
    PlanningCall, PlanningCallEnd, PlanningEntry, PlanningFact, PlanningRecord, PlanningReply, PlanningResult,
};
pub use reply::{PLAN_LIMIT, PlanMistake, PlanRepairs, append_mistake, read_plan_text};
pub use task::{Perception, PerceptionMistake, TaskConstraints, TaskSpec, read_perception, task_question};
