//! The effect of the passing of time.

use crate::machine::{
    state::{
        Run, TaskIx,
        fold::task_end::TaskCompletion,
        in_flight::TaskRequest,
        task_phase::{ActivityKind, TaskPhase},
        timers,
    },
    tasks::{budget, cancel, finish},
    words::{Attempt, AttemptEnd, EventKind, RunPhase, Standing, TaskId, TimerKind},
};
use wf_model::FailureClass;

/// Ends the attempt of a wait that is over.
pub(in crate::machine) fn end_wait(run: &mut Run, attempt: Attempt) {
    let Some((task, live)) = run.current_activity(&attempt, ActivityKind::Working) else {
        return;
    };
    let step = run.plan().step(task.ix());
    if let Some((at, exit)) = timers::wait_end(&step.work, step.timeout, live.since)
        && at <= run.now()
    {
        finish::on_attempt_end(run, AttemptEnd::new(attempt, exit));
    }
}

/// Fails a task that has waited too long for its turn.
pub(in crate::machine) fn on_queue_timeout(run: &mut Run, task_id: &TaskId) {
    let Some(task) = run.task_ix(task_id) else {
        return;
    };
    let untried = run.state().is_untried(task);
    let waits = match run.flight.request(task) {
        Some(TaskRequest::Turn { .. } | TaskRequest::Lock { .. }) => true,
        Some(TaskRequest::Timer) | None => {
            task.item.is_some() && !run.is_over(task) && run.state().activity(task).is_none()
        }
        Some(_) => false,
    };
    let late = timers::queue_limit(run, task).is_some_and(|at| at <= run.now());
    if untried && waits && late {
        let limit = run.plan().step(task.ix()).queue_timeout.unwrap_or_default();
        let reason = format!("waited longer than {} in the queue", wf_base::time::format_duration(limit));
        let failure_class = Some(FailureClass::Environmental);
        finish::finish(run, task, TaskCompletion::failure(Standing::Unchecked, failure_class, reason));
    }
}

/// True if an attempt is the next one of a task, and may begin.
fn is_due(run: &Run, task: TaskIx, attempt: u32) -> bool {
    let record = run.state().task_record(task);
    let due = record.is_some_and(|record| {
        let next = record.attempts().saturating_add(1) == attempt;
        next && matches!(record.phase(), TaskPhase::Resting(due) if due <= run.now())
    });
    due && run.flight.request(task) == Some(TaskRequest::Timer)
}

/// Sets the timer of the whole run.
pub(in crate::machine) fn run_timer(run: &mut Run) {
    budget::budget_timer(run);
    if let Some(at) = timers::run_limit(run) {
        run.set_timer(TimerKind::Run, at);
    }
}

/// Queues a task whose next attempt is due.
pub(in crate::machine) fn on_retry_due(run: &mut Run, attempt: &Attempt) {
    if let Some(task) = run.task_ix(&attempt.task_id)
        && is_due(run, task, attempt.attempt)
    {
        run.enqueue(task);
    }
}

/// Ends a run that has taken too long.
pub(in crate::machine) fn on_run_timeout(run: &mut Run) {
    let late = timers::run_limit(run).is_some_and(|limit| limit <= run.now());
    if late && !run.state().is_ending() && run.state().phase() < RunPhase::Finally {
        run.emit(EventKind::RunTimedOut);
        cancel::sweep(run);
    }
}
