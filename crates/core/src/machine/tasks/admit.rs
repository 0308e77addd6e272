//! The admission of tasks: room, locks, gates and the cache.

use std::sync::Arc;

use crate::machine::{
    state::{
        self, Run, TaskIx, feedback,
        fold::task_end::TaskCompletion,
        follow_up::FollowUp,
        help,
        in_flight::TaskRequest,
        parts::task_record::TaskRecord,
        plan_rules::{has_gates, takes_room},
        scope::{self, TaskScope},
        task_phase::TaskPhase,
        timers,
    },
    tasks::{budget, cancel, finish},
    words::{Attempt, CachedResult, Effect, EventKind, GatePoint, Standing, TaskId, TaskLocks, TimerKind},
};
use wf_model::{EngineFailure, StepWork};

/// Lets the next task begin that there is room for. True if there was one.
pub(in crate::machine) fn admit(run: &mut Run) -> bool {
    let Some(task) = run.next_in_turn() else {
        return false;
    };
    run.flight.set(task, None);
    admit_one(run, task);
    true
}

fn admit_one(run: &mut Run, task: TaskIx) {
    if !budget::affords(run, task) {
        return budget::skip_over_budget(run, task);
    }
    if let Some(point) = run.entry(task).filter(|point| has_gates(run.plan(), Some(task), *point)) {
        let room = takes_room(run.plan(), task);
        run.flight.set(task, Some(TaskRequest::Gates { room }));
        return run.then(FollowUp::AskGates { task: Some(task), point, exchange: None });
    }
    let step = run.plan().step(task.ix());
    let task_id = state::task_id(run.plan(), task);
    if !run.flight.has_lock(task) {
        let locks = TaskLocks::of(run.plan(), run.state(), task);
        if !locks.is_empty() {
            return request_locks(run, task, locks);
        }
    }
    let first = run.state().task_record(task).is_some_and(TaskRecord::is_fresh);
    if step.cache.is_none() || !first {
        return start(run, task);
    }
    let view = TaskScope { plan: run.plan(), state: run.state(), task: Some(task) };
    match scope::work_reads(&view, step) {
        Ok(reads) => {
            run.flight.set(task, Some(TaskRequest::Lookup));
            let item_value = run.state().item(task).cloned();
            run.push_effect(Effect::Lookup { task_id, item_value, reads });
        }
        Err(error) => finish::finish(run, task, TaskCompletion::unstartable(error.to_string())),
    }
}

/// Asks for the locks of a task. Only the wait for a named lock is an event: files are free most of the time, and
/// nothing follows from the wait for them.
fn request_locks(run: &mut Run, task: TaskIx, locks: TaskLocks) {
    let task_id = state::task_id(run.plan(), task);
    let is_told = run.state().task_record(task).is_none_or(|record| record.phase() == TaskPhase::Locking);
    if let (Some(lock), false) = (&locks.lock, is_told) {
        run.emit(EventKind::LockRequested { task_id: task_id.clone(), lock: lock.clone() });
    }
    // Files are free most of the time: the room is kept, or tasks would not start in their order.
    let room = locks.lock.is_none() && takes_room(run.plan(), task);
    run.flight.set(task, Some(TaskRequest::Lock { room }));
    run.push_effect(Effect::Lock { task_id, locks });
}

/// Starts the next attempt of a task.
pub(in crate::machine) fn start(run: &mut Run, task: TaskIx) {
    if run.is_draining() {
        return run.enqueue(task);
    }
    if !budget::affords(run, task) {
        return budget::skip_over_budget(run, task);
    }
    if let Some(failure) = help::escalated_failure(run, task) {
        let made = run.state().task_record(task).map_or(0, TaskRecord::attempts);
        return run.then(FollowUp::AskPeople { task, made, completion: failure });
    }
    let plan = Arc::clone(run.plan());
    let step = plan.step(task.ix());
    let view = TaskScope { plan: &plan, state: run.state(), task: Some(task) };
    let reads = match scope::work_reads(&view, step) {
        Ok(reads) => reads,
        Err(error) => return finish::finish(run, task, TaskCompletion::unstartable(error.to_string())),
    };
    let made = run.state().task_record(task).map_or(0, TaskRecord::attempts);
    let attempt = state::attempt(&plan, task, made.saturating_add(1));
    run.emit(EventKind::AttemptStarted(attempt.clone()));
    if matches!(step.work, StepWork::Approve(_)) {
        return run.then(FollowUp::AskStep(task));
    }
    run.await_briefing(task, &attempt, run.now());
    let item_value = run.state().item(task).cloned();
    match timers::wait_end(&step.work, step.timeout, run.now()) {
        Some((at, _)) => run.set_timer(TimerKind::Wait(attempt), at),
        None => run.push_effect(Effect::Start {
            attempt,
            item_value,
            reads,
            correction: feedback::correction(run, task),
            tool_args: run.tool_args(task),
        }),
    }
}

pub(in crate::machine) fn on_lock_acquired(run: &mut Run, task_id: &TaskId) {
    let Some(task) = run.task_ix(task_id) else {
        return;
    };
    match run.flight.request(task) {
        Some(TaskRequest::Return { approved }) => {
            run.flight.note_lock(task);
            run.flight.set(task, None);
            run.then(FollowUp::ResumeActivity { task, approved });
        }
        Some(TaskRequest::Lock { .. }) => {
            run.flight.note_lock(task);
            run.enqueue(task);
        }
        _ => {}
    }
}

/// Lets other tasks have the room that a task kept in case that its files are free.
pub(in crate::machine) fn on_lock_held(run: &mut Run, task_id: &TaskId) {
    let task = run.task_ix(task_id);
    let task = task.filter(|task| run.flight.request(*task) == Some(TaskRequest::Lock { room: true }));
    if let Some(task) = task {
        run.flight.set(task, Some(TaskRequest::Lock { room: false }));
    }
}

pub(in crate::machine) fn on_lock_refused(
    run: &mut Run,
    task_id: &TaskId,
    reason: String,
    is_replaced: bool,
) {
    let task = run.task_ix(task_id);
    let waits = |task: &TaskIx| matches!(run.flight.request(*task), Some(TaskRequest::Lock { .. }));
    let Some(task) = task.filter(waits) else {
        return;
    };
    if is_replaced {
        return cancel::cancel(run, reason);
    }
    let failure_class = Some(EngineFailure::Busy.class());
    finish::finish(run, task, TaskCompletion::failure(Standing::Unchecked, failure_class, reason));
}

pub(in crate::machine) fn on_cache_lookup(run: &mut Run, task_id: &TaskId, cached: Option<CachedResult>) {
    let looks = |task: &TaskIx| run.flight.request(*task) == Some(TaskRequest::Lookup);
    let Some(task) = run.task_ix(task_id).filter(looks) else {
        return;
    };
    let Some(found) = cached else {
        run.flight.set(task, None);
        return start(run, task);
    };
    run.emit(EventKind::CacheHit { task_id: task_id.clone(), found });
    if has_gates(run.plan(), Some(task), GatePoint::Leave) {
        let (task, point) = (Some(task), GatePoint::Leave);
        run.then(FollowUp::AskGates { task, point, exchange: None });
    } else {
        let attempt = Attempt { task_id: task_id.clone(), attempt: 0 };
        run.then(FollowUp::ConfirmWork { task, attempt, standing: None });
    }
}
