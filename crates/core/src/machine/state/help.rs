//! The help for a task whose attempts fail, as far as the plan grants it: another round, a planner, people.

use crate::machine::{
    state::{Run, TaskIx, fold::task_end::TaskCompletion},
    words::{FailedCheck, Standing},
};
use wf_model::{FailureClass, OnStuck};

/// The number of failed attempts after which the planner is asked.
pub const ATTEMPTS_BEFORE_GUIDANCE: u32 = 3;

/// The number of rounds of re-planning after which people are asked (a5; a plan may grant fewer).
pub const REPLANS_BEFORE_PEOPLE: u32 = 2;

/// True if another round may still change how a step is done.
pub(in crate::machine) fn may_replan(run: &Run, task: TaskIx) -> bool {
    let parts = run.plan().parts();
    let Some(replan) = parts.replan.as_ref().filter(|_| !run.plan().is_finally(task.ix())) else {
        return false;
    };
    if run.state().control.has_escalated() {
        return false;
    }
    let is_changeable = run.base().step(task.ix()).alternative_count() > 1 || parts.planner.is_some();
    is_changeable && run.state().control.replans() < replan.max_replans.min(REPLANS_BEFORE_PEOPLE)
}

/// True if the planner is to be asked about a failed attempt of a task.
pub(in crate::machine) fn consults_planner(
    run: &Run,
    task: TaskIx,
    made: u32,
    failure_class: Option<FailureClass>,
) -> bool {
    let Some(record) = run.state().task_record(task) else {
        return false;
    };
    let enough = record.made_in_round(made) >= ATTEMPTS_BEFORE_GUIDANCE;
    let first = record.guidance().is_none() && made < u32::MAX;
    let consults = run.plan().step(task.ix()).on_stuck.guides(run.plan().parts().planner.as_ref());
    // A planner knows no remedy for an environment that fails.
    let logical = failure_class == Some(FailureClass::Logical);
    enough && first && consults && logical && run.agent_work(task).is_some()
}

/// True if people may be asked about a task after its last attempt.
pub(in crate::machine) fn may_ask_people(run: &Run, task: TaskIx, made: u32) -> bool {
    let escalates = run.plan().step(task.ix()).on_stuck == OnStuck::Escalate;
    let open = escalates && made > 0 && made < u32::MAX && run.agent_work(task).is_some();
    open && !run.is_halting(task) && !may_replan(run, task)
}

/// Returns the failure about which people are asked before the next attempt of an escalated step, if they are.
pub(in crate::machine) fn escalated_failure(run: &Run, task: TaskIx) -> Option<TaskCompletion> {
    let record = run.state().task_record(task)?;
    let is_escalated = run.state().control.is_escalated(task.step);
    if !is_escalated || record.attempts_of_round() > 0 || record.person_guidance().is_some() {
        return None;
    }
    let tries = record.history()?;
    let reason = tries.failed.first().map(FailedCheck::describe).or_else(|| tries.exit.clone());
    let is_refuted = !tries.failed.is_empty();
    let standing = if is_refuted { Standing::Refuted } else { Standing::Unchecked };
    Some(TaskCompletion::failure(standing, tries.failure_class, reason.unwrap_or_default()))
}
