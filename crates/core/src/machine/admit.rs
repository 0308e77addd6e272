//! The admission of tasks: room, locks, gates and the cache.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::advance::wait_end;
use super::scope::{self, TaskScope};
use super::state::{self, ActivityKind, TaskActivity, TaskIx};
use super::{Effect, EventKind, Machine, TimerKind};
use wf_model::StepWork;

impl Machine {
    /// Starts the tasks that there is room for. True if that may let other tasks proceed.
    pub(super) fn admit(&mut self) -> bool {
        let mut moved = false;
        loop {
            if let Some(spot) = self.first_startable(&self.state.roomless) {
                self.state.roomless.remove(&spot);
                self.admit_one(spot);
            } else if let Some(spot) = self.next_in_turn() {
                self.state.queue.remove(&spot);
                self.admit_one(spot);
            } else {
                return moved;
            }
            moved = true;
        }
    }

    /// Returns the task whose turn it is, if there is room for it.
    fn next_in_turn(&self) -> Option<TaskIx> {
        let room = self.plan.parts().policy.max_parallel.max(1);
        if self.state.busy < room { self.first_startable(&self.state.queue) } else { None }
    }

    /// Returns the first waiting task that may start. While a task that takes up room waits to get
    /// its lock back after a resume, no other task takes a lock and then waits for room: otherwise
    /// each could wait for what the other holds, even across runs.
    fn first_startable(&self, waiting: &BTreeSet<TaskIx>) -> Option<TaskIx> {
        let free = |spot: &&TaskIx| {
            self.state.returning.is_empty()
                || self.plan.step(spot.ix()).concurrency.is_none()
                || self.state.locked.contains(spot)
        };
        waiting.iter().find(free).copied()
    }

    fn admit_one(&mut self, spot: TaskIx) {
        if !self.affords(spot) {
            return self.skip_over_budget(spot);
        }
        if self.gate_enter(spot) {
            return;
        }
        let step = self.plan.step(spot.ix());
        let place = state::task_id(&self.plan, spot);
        if let Some(lock) = &step.concurrency
            && !self.state.locked.contains(&spot)
        {
            let lock = lock.clone();
            let told = self.state.task_record(spot).is_some_and(|slot| slot.awaits);
            if told {
                self.state.locking.insert(spot);
            } else {
                let (place, lock) = (place.clone(), lock.clone());
                self.emit(EventKind::LockRequested { place, lock });
            }
            self.turn.effects.push(Effect::Lock { place, lock });
            return;
        }
        let first =
            self.state.task_record(spot).is_some_and(|slot| slot.attempts == 0 && slot.result.is_none());
        if step.cache.is_none() || !first {
            return self.start(spot);
        }
        let view = TaskScope { plan: &self.plan, state: &self.state, spot: Some(spot) };
        match scope::work_reads(&view, step) {
            Ok(reads) => {
                let live =
                    TaskActivity { attempt: 0, since: self.now, doing: ActivityKind::Looking, room: true };
                self.state.start_activity(spot, live);
                let item_value = self.state.item(spot).cloned();
                self.turn.effects.push(Effect::Lookup { place, item_value, reads });
            }
            Err(error) => self.end_unstartable(spot, &error.to_string()),
        }
    }

    /// Starts the next attempt of a task.
    pub(super) fn start(&mut self, spot: TaskIx) {
        if !self.affords(spot) {
            return self.skip_over_budget(spot);
        }
        let plan = Arc::clone(&self.plan);
        let step = plan.step(spot.ix());
        let view = TaskScope { plan: &plan, state: &self.state, spot: Some(spot) };
        let reads = match scope::work_reads(&view, step) {
            Ok(reads) => reads,
            Err(error) => return self.end_unstartable(spot, &error.to_string()),
        };
        let made = self.state.task_record(spot).map_or(0, |slot| slot.attempts);
        let attempt = state::attempt(&plan, spot, made.saturating_add(1));
        self.emit(EventKind::AttemptStarted(attempt.clone()));
        if let StepWork::Approve(approve) = &step.work {
            return self.ask_step(spot, approve);
        }
        let item_value = self.state.item(spot).cloned();
        match wait_end(&step.work, step.timeout, self.now) {
            Some((at, _)) => self.turn.effects.push(Effect::Wake { timer: TimerKind::Wait(attempt), at }),
            None => self.turn.effects.push(Effect::Start {
                attempt,
                item_value,
                reads,
                correction: self.correction(spot),
                tool_args: self.tool_args(spot),
            }),
        }
    }
}
