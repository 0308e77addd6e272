//! The attempt after one that failed: granted by `retry`, by rework, by the guidance of a planner or of people.

use std::{sync::Arc, time::Duration};

use crate::machine::{
    state::{
        self, Run, TaskIx, fold::task_end::TaskCompletion, follow_up::FollowUp, help,
        parts::task_record::TaskRecord, timers,
    },
    tasks::{budget, cancel, finish},
    words::{Attempt, EventKind, ReworkLoop, TimerKind},
};
use wf_base::{
    digest::Sha256Digest,
    time::{Moment, format_duration},
};
use wf_model::FailureClass;

/// Schedules a retry, or ends the task with that failure if people are not asked first. `asked` is the wait that a
/// server asked for.
pub(in crate::machine) fn retry_or_fail(
    run: &mut Run,
    task: TaskIx,
    made: u32,
    asked: Option<Duration>,
    completion: TaskCompletion,
) {
    if !schedule_retry(run, task, made, asked, &completion) {
        fail_or_ask(run, task, made, completion);
    }
}

/// Schedules a retry if the step's `retry` grants one, or guidance of a planner does; asks the planner first if
/// the step consults it now.
fn schedule_retry(
    run: &mut Run,
    task: TaskIx,
    made: u32,
    asked: Option<Duration>,
    completion: &TaskCompletion,
) -> bool {
    let TaskCompletion { failure_class, reason, .. } = completion;
    let (failure_class, mut reason) = (*failure_class, reason.clone());
    let plan = Arc::clone(run.plan());
    let step = plan.step(task.ix());
    let retry = &step.retry;
    let repeat = failure_class == Some(FailureClass::Interrupted) && step.idempotent;
    // Attempts of earlier rounds used another alternative, and rework for `inspect` and `test`
    // is counted separately.
    let before = (run.state().task_record(task)).map_or(0, TaskRecord::uncounted_attempts);
    let own = made.saturating_sub(before);
    let retried = failure_class.is_some_and(|failure_class| retry.covers(failure_class));
    if retried && asks_planner(run, task, made, failure_class, &reason) {
        return true;
    }
    let record = run.state().task_record(task);
    let guided = record.is_some_and(|record| record.has_guidance_after(made));
    let granted = retried && (own <= retry.max || guided);
    // There is no number for an attempt after the last.
    let Some(next) = made.checked_add(1).filter(|_| repeat || granted) else {
        return false;
    };
    if !budget::affords(run, task) {
        return false;
    }
    let attempt = state::attempt(&plan, task, next);
    let wait = if repeat { Duration::ZERO } else { retry.delay(own, seed(run, &attempt)) };
    let asked = asked.unwrap_or_default();
    if asked > retry.max_delay {
        let limit = format_duration(retry.max_delay);
        reason += &format!("; waiting for {limit} only, the `max_delay` of `retry`");
    }
    let due = run.now().after(wait.max(asked.min(retry.max_delay)));
    schedule_attempt(run, attempt, due, reason, None);
    true
}

/// Leaves it to the planner what follows a failed attempt, if the step consults it now. True if it does.
fn asks_planner(
    run: &mut Run,
    task: TaskIx,
    made: u32,
    failure_class: Option<FailureClass>,
    reason: &str,
) -> bool {
    let asks = help::consults_planner(run, task, made, failure_class) && budget::affords(run, task);
    if asks {
        run.then(FollowUp::AskPlanner { task, made, reason: reason.to_owned() });
    }
    asks
}

/// Ends a task with a failure after which no attempt is granted, unless people are asked first.
pub(in crate::machine) fn fail_or_ask(run: &mut Run, task: TaskIx, made: u32, completion: TaskCompletion) {
    if help::may_ask_people(run, task, made) && budget::affords(run, task) {
        run.then(FollowUp::AskPeople { task, made, completion });
    } else {
        finish::finish(run, task, completion);
    }
}

/// Schedules the attempt that a failed phase of checks sends the work back to, unless the planner is asked first.
pub(in crate::machine) fn begin_rework(
    run: &mut Run,
    task: TaskIx,
    made: u32,
    looped: ReworkLoop,
    failure_class: Option<FailureClass>,
    reason: String,
) {
    if !asks_planner(run, task, made, failure_class, &reason) {
        let attempt = state::attempt(run.plan(), task, made.saturating_add(1));
        schedule_attempt(run, attempt, run.now(), reason, Some(looped));
    }
}

/// Schedules the attempt that people guide, if the budget allows it.
pub(in crate::machine) fn retry_guided(
    run: &mut Run,
    task: TaskIx,
    made: u32,
    reason: String,
    completion: TaskCompletion,
) {
    let Some(next) = made.checked_add(1).filter(|_| budget::affords(run, task)) else {
        return finish::finish(run, task, completion);
    };
    let attempt = state::attempt(run.plan(), task, next);
    schedule_attempt(run, attempt, run.now(), reason, None);
    timers::renew_queue_timer(run, task);
}

/// Schedules the next attempt of a task.
pub(in crate::machine) fn schedule_attempt(
    run: &mut Run,
    attempt: Attempt,
    due: Moment,
    reason: String,
    looped: Option<ReworkLoop>,
) {
    if let Some(task) = run.task_ix(&attempt.task_id) {
        // It asks for its locks in its turn.
        cancel::withdraw_return(run, task);
    }
    run.emit(EventKind::RetryScheduled { attempt: attempt.clone(), due, reason, looped });
    run.set_timer(TimerKind::Retry(attempt), due);
}

fn seed(run: &Run, attempt: &Attempt) -> u64 {
    let name = attempt.to_string();
    let digest = Sha256Digest::of_parts([run.state().run_id().as_str().as_bytes(), name.as_bytes()]);
    digest.bytes().iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte))
}
