//! The admission of tasks: room, locks, gates and the cache.

use std::sync::Arc;

use crate::machine::state::fold::task_end::TaskCompletion;
use crate::machine::state::in_flight::TaskRequest;
use crate::machine::state::plan_rules::{has_gates, takes_room};
use crate::machine::state::scope::{self, TaskScope};
use crate::machine::state::task_phase::TaskPhase;
use crate::machine::state::{self, Run, TaskIx};
use crate::machine::tasks::advance::wait_end;
use crate::machine::words::{
    Attempt, CachedResult, Effect, EventKind, GatePoint, Standing, TaskId, TaskLocks, TimerKind,
};
use wf_model::{EngineFailure, StepWork};

impl Run {
    /// Starts the tasks that there is room for. True if that may let other tasks proceed.
    pub(in crate::machine) fn admit(&mut self) -> bool {
        let mut moved = false;
        let most = self.plan.parts().policy.max_parallel.max(1);
        while let Some(task) =
            self.flight.next_in_turn(&self.plan, &self.state, most.saturating_sub(self.state.index.busy))
        {
            self.flight.set(task, None);
            self.admit_one(task);
            moved = true;
        }
        moved
    }

    fn admit_one(&mut self, task: TaskIx) {
        if !self.affords(task) {
            return self.skip_over_budget(task);
        }
        if self.gate_enter(task) {
            return;
        }
        let step = self.plan.step(task.ix());
        let place = state::task_id(&self.plan, task);
        if !self.flight.locked.contains(&task) {
            let locks = TaskLocks::of(&self.plan, &self.state, task);
            if !locks.is_empty() {
                return self.request_locks(task, locks);
            }
        }
        let first = self
            .state
            .task_record(task)
            .is_some_and(|record| record.attempts == 0 && record.result.is_none());
        if step.cache.is_none() || !first {
            return self.start(task);
        }
        let view = TaskScope { plan: &self.plan, state: &self.state, task: Some(task) };
        match scope::work_reads(&view, step) {
            Ok(reads) => {
                self.flight.set(task, Some(TaskRequest::Lookup));
                let item_value = self.state.item(task).cloned();
                self.turn.effects.push(Effect::Lookup { place, item_value, reads });
            }
            Err(error) => self.end_unstartable(task, &error.to_string()),
        }
    }

    /// Asks for the locks of a task. Only the wait for a named lock is an event: files are free most of the time, and
    /// nothing follows from the wait for them.
    fn request_locks(&mut self, task: TaskIx, locks: TaskLocks) {
        let place = state::task_id(&self.plan, task);
        let is_told = self.state.task_record(task).is_none_or(|record| record.phase == TaskPhase::Locking);
        if let (Some(lock), false) = (&locks.lock, is_told) {
            self.emit(EventKind::LockRequested { place: place.clone(), lock: lock.clone() });
        }
        // Files are free most of the time: the room is kept, or tasks would not start in their order.
        let room = locks.lock.is_none() && takes_room(&self.plan, task);
        self.flight.set(task, Some(TaskRequest::Lock { room }));
        self.turn.effects.push(Effect::Lock { place, locks });
    }

    /// Starts the next attempt of a task.
    pub(in crate::machine) fn start(&mut self, task: TaskIx) {
        if self.is_draining() {
            return self.flight.enqueue(&self.plan, task);
        }
        if !self.affords(task) {
            return self.skip_over_budget(task);
        }
        if self.ask_people_first(task) {
            return;
        }
        let plan = Arc::clone(&self.plan);
        let step = plan.step(task.ix());
        let view = TaskScope { plan: &plan, state: &self.state, task: Some(task) };
        let reads = match scope::work_reads(&view, step) {
            Ok(reads) => reads,
            Err(error) => return self.end_unstartable(task, &error.to_string()),
        };
        let made = self.state.task_record(task).map_or(0, |record| record.attempts);
        let attempt = state::attempt(&plan, task, made.saturating_add(1));
        self.emit(EventKind::AttemptStarted(attempt.clone()));
        if let StepWork::Approve(approve) = &step.work {
            return self.ask_step(task, approve);
        }
        self.await_briefing(task, &attempt, self.now);
        let item_value = self.state.item(task).cloned();
        match wait_end(&step.work, step.timeout, self.now) {
            Some((at, _)) => self.set_timer(TimerKind::Wait(attempt), at),
            None => self.turn.effects.push(Effect::Start {
                attempt,
                item_value,
                reads,
                correction: self.correction(task),
                tool_args: self.tool_args(task),
            }),
        }
    }

    pub(in crate::machine) fn on_lock_acquired(&mut self, place: &TaskId) {
        let Some(task) = self.task_ix(place) else {
            return;
        };
        match self.flight.request(task) {
            Some(TaskRequest::Return { approved }) => {
                self.flight.locked.insert(task);
                self.flight.set(task, None);
                self.resume_activity(task, approved);
            }
            Some(TaskRequest::Lock { .. }) => {
                self.flight.locked.insert(task);
                self.flight.enqueue(&self.plan, task);
            }
            _ => {}
        }
    }

    /// Lets other tasks have the room that a task kept in case that its files are free.
    pub(in crate::machine) fn on_lock_held(&mut self, place: &TaskId) {
        let task = self.task_ix(place);
        let task = task.filter(|task| self.flight.request(*task) == Some(TaskRequest::Lock { room: true }));
        if let Some(task) = task {
            self.flight.set(task, Some(TaskRequest::Lock { room: false }));
        }
    }

    pub(in crate::machine) fn on_lock_refused(&mut self, place: &TaskId, reason: String, is_replaced: bool) {
        let task = self.task_ix(place);
        let waits = |task: &TaskIx| matches!(self.flight.request(*task), Some(TaskRequest::Lock { .. }));
        let Some(task) = task.filter(waits) else {
            return;
        };
        if is_replaced {
            return self.cancel(reason);
        }
        let failure_class = Some(EngineFailure::Busy.class());
        self.finish(task, TaskCompletion::failure(Standing::Unchecked, failure_class, reason));
    }

    pub(in crate::machine) fn on_cache_lookup(&mut self, place: &TaskId, found: Option<CachedResult>) {
        let looks = |task: &TaskIx| self.flight.request(*task) == Some(TaskRequest::Lookup);
        let Some(task) = self.task_ix(place).filter(looks) else {
            return;
        };
        let Some(found) = found else {
            self.flight.set(task, None);
            return self.start(task);
        };
        self.emit(EventKind::CacheHit { place: place.clone(), found });
        if has_gates(&self.plan, Some(task), GatePoint::Leave) {
            self.ask_gates(Some(task), GatePoint::Leave);
        } else {
            self.confirm_work(task, Attempt { place: place.clone(), attempt: 0 }, None);
        }
    }
}
