//! The writing of plans by models (artoo v0.8, R1 and R2): the questions, and the rules for the replies.
//!
//! A [`TaskSpec`] is what a user wants, as a perceiver understood it. A planner gets it with the language, the
//! [`PlanningContext`] and the [`MemoryCalibration`], and replies with the text of a plan. Whoever can read plans
//! judges it; the [`PlanRepairs`] count what may still be asked again.
//!
//! **Invariant:** the words of the user reach a planner unchanged, and no model writes them.
//! **Invariant:** a model is asked again at most once for each kind of mistake.

mod calibration;
mod question;
mod reply;
mod task;
#[cfg(test)]
mod tests;

pub use calibration::{CalibrationEntry, MemoryCalibration};
pub use question::{LANGUAGE, PlanRevision, PlanningContext, SkillSummary, plan_question, revision_question};
pub use reply::{PLAN_LIMIT, PlanMistake, PlanRepairs, append_mistake, read_plan_text};
pub use task::{TaskConstraints, TaskSpec, read_task, task_question};
