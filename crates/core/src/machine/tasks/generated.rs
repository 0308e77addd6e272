//! The plans that the run makes: see [`envelope`](crate::envelope).
//!
//! ```text
//! AttemptStarted ──▶ Start ──▶ PlanGenerated ──▶ Watch, with the digest of the text ──▶ AttemptEnded
//!                                   └── with problems: the attempt fails, and nothing of it begins
//! ```

use crate::machine::{
    state::{Run, task_phase::ActivityKind},
    tasks::{finish, resume},
    words::{AttemptEnd, EventKind, PlanGeneration, WorkExit},
};
use wf_model::{FailureClass, StepWork};

/// Applies that a plan was read: one without problems begins.
pub(in crate::machine) fn on_plan_generated(run: &mut Run, generation: PlanGeneration) {
    let Some((task, activity)) = run.current_activity(&generation.attempt, ActivityKind::Working) else {
        return;
    };
    let is_awaited = matches!(run.plan().step(task.ix()).work, StepWork::Generated(_))
        && run.state().task_record(task).is_some_and(|record| record.generated_plan().is_none());
    if !is_awaited {
        return;
    }
    let attempt = generation.attempt.clone();
    if run.is_halting(task) {
        return finish::on_attempt_end(run, AttemptEnd::new(attempt, WorkExit::Cancelled));
    }
    let problems = generation.problems.join("; ");
    run.emit(EventKind::PlanGenerated(generation));
    if problems.is_empty() {
        return resume::watch(run, task, attempt, activity.since);
    }
    let reason = format!("the generated plan was refused: {problems}");
    let exit = WorkExit::Error { reason, failure_class: FailureClass::Logical };
    finish::on_attempt_end(run, AttemptEnd::new(attempt, exit));
}
