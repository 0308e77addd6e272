//! The explanation of a run: its state, and the deciding steps.

use std::fmt::Write as _;

use crate::record::{
    lifecycle::RunLifecycle,
    record::{RunRecord, task_of_row},
};
use wf_base::{
    units::first_line,
    untrusted::{BOLD, DIM, paint, styled_line, untrusted},
};
use wf_core::machine::{RunOutcome, StepState, TaskId};

/// The maximum number of tasks in the explanation of a run.
const MAX_DECIDING: usize = 3;

/// Returns the head of the explanation of a run: its state, and the reason for it.
pub fn explain_run(record: &RunRecord) -> String {
    let state = paint(record.life.style(), record.life.as_str());
    let mut text = format!("{} · {state} · run {}\n", paint(BOLD, &record.run.plan), record.run.id.short());
    let reason = untrusted(first_line(&record.run.reason)).to_string();
    let checks = record.own_rulings().filter(|check| !check.verdict.passed());
    let checks = checks.map(|check| format!("the plan's check `{}` did not pass", check.verdict.name));
    let nothing = record.life == RunLifecycle::Ended(RunOutcome::Succeeded);
    let nothing =
        nothing.then(|| format!("nothing failed; for its steps: wf show {}", record.run.id.short()));
    for reason in Some(reason).filter(|reason| !reason.is_empty()).into_iter().chain(checks).chain(nothing) {
        let _ = writeln!(text, "  {} {}", paint(DIM, "·"), styled_line(&reason));
    }
    text
}

/// Returns the tasks behind the state of a run: the failed, then the waiting ones; and the number of further ones.
pub fn deciding_tasks(record: &RunRecord) -> (Vec<TaskId>, usize) {
    let of = |state: StepState| -> Vec<TaskId> {
        let rows = record.steps.iter().filter(|row| row.state == state);
        let tasks: Vec<TaskId> = rows.map(task_of_row).collect();
        // The items of a repeated step say more than the step.
        let has_items =
            |step: &TaskId| tasks.iter().any(|task| task.step == step.step && task.item.is_some());
        tasks.iter().filter(|task| task.item.is_some() || !has_items(task)).cloned().collect()
    };
    let mut tasks = of(StepState::Failed);
    tasks.extend(of(StepState::Waiting));
    let more = tasks.len().saturating_sub(MAX_DECIDING);
    tasks.truncate(MAX_DECIDING);
    (tasks, more)
}
