//! The resume after a replay: everything in flight is asked for again.

use std::sync::Arc;

use super::advance::wait_end;
use super::scope::{self, TaskScope};
use super::state::{self, ActivityKind, TaskIx};
use super::{ApprovalRequest, Effect, GatePoint, Machine, MachineTurn, RunPhase, TimerKind};
use wf_base::time::Moment;

impl Machine {
    /// Returns the effects that the run needs to go on after a replay.
    pub fn resume(&mut self, now: Moment) -> MachineTurn {
        self.now = self.now.max(now);
        if self.state.outcome.is_some() || self.state.started.is_none() {
            return MachineTurn::default();
        }
        self.state.locked.clear();
        self.resume_timers();
        self.resume_asks();
        self.resume_locks();
        let live: Vec<TaskIx> = self.state.live.keys().copied().collect();
        for spot in live {
            if !self.state.returning.contains(&spot) {
                self.resume_live(spot);
            }
        }
        if self.is_planning() {
            self.ask_planner_again();
        } else if self.state.phase == RunPhase::Verify {
            match self.state.judged {
                None => self.check_plan(),
                Some(_) => self.after_verify(),
            }
        }
        if self.state.phase == RunPhase::Confirm && !self.state.is_force_cancelled() {
            self.resume_confirmation();
        }
        // A stop request from before may not have reached what runs.
        self.kill_live(self.state.is_force_cancelled());
        self.advance();
        self.notice_budget();
        std::mem::take(&mut self.turn)
    }

    /// Asks again for everything waited for, after a resume.
    fn resume_asks(&mut self) {
        let asks: Vec<ApprovalRequest> = (self.state.asks.values()).map(|asked| asked.ask.clone()).collect();
        for ask in asks {
            self.wait_for(ask);
        }
        let point = match self.state.phase {
            RunPhase::Gates => GatePoint::Start,
            RunPhase::Publish => GatePoint::Publish,
            _ => return,
        };
        let asked = self.state.asks.values().any(|asked| asked.spot.is_none());
        if asked || self.state.blocked.is_some() {
            return;
        }
        if !self.state.is_ending() {
            self.ask_gates(None, point);
        } else if point == GatePoint::Publish {
            // No input will come to say that it publishes nothing.
            self.after_publish();
        }
    }

    fn resume_timers(&mut self) {
        self.run_timer();
        for (spot, due) in &self.state.resting {
            let made = self.state.task_record(*spot).map_or(0, |slot| slot.attempts);
            let attempt = state::attempt(&self.plan, *spot, made.saturating_add(1));
            self.turn.effects.push(Effect::Wake { timer: TimerKind::Retry(attempt), at: *due });
        }
        self.resume_queue_timers();
    }

    /// Resumes the waits of tasks for their turn; the time in between counts. Tasks whose step is
    /// still to be considered get their timer there.
    fn resume_queue_timers(&mut self) {
        let mut waiting: Vec<TaskIx> = self.state.locking.iter().copied().collect();
        let live = &self.state.live;
        for (step, slot) in (0_u32..).zip(&self.state.steps) {
            let many = slot.many.as_ref().filter(|_| !slot.state.is_final());
            let slots = many.map_or(&[][..], |many| &many.slots);
            let spots = (0_u32..).zip(slots).map(|(item, slot)| (Some(item), slot));
            let untried = spots.filter(|(_, slot)| slot.attempts_of_round() == 0 && slot.ended.is_none());
            waiting.extend(untried.map(|(item, _)| TaskIx { step, item }));
        }
        waiting.retain(|spot| !live.contains_key(spot));
        waiting.sort_unstable();
        waiting.dedup();
        for spot in waiting {
            self.queue_timer(spot);
        }
    }

    /// Asks for locks again: at once for tasks that go on, which keep their room; tasks that only
    /// waited get their turn anew.
    fn resume_locks(&mut self) {
        let plan = Arc::clone(&self.plan);
        for spot in std::mem::take(&mut self.state.locking) {
            self.state.enqueue(&plan, spot);
        }
        // A task that has not begun holds no lock, even while an approval is pending for it; one
        // with a result from the cache has begun.
        let has_result = |spot| (self.state.task_record(spot)).is_some_and(|slot| slot.result.is_some());
        let begun = |(spot, live): &(&TaskIx, &state::TaskActivity)| {
            live.doing != ActivityKind::Asking || live.attempt > 0 || has_result(**spot)
        };
        let live = self.state.live.iter().filter(begun);
        let live: Vec<TaskIx> = live.map(|(spot, _)| *spot).collect();
        for spot in live {
            let lock = plan.step(spot.ix()).concurrency.clone();
            if let (Some(lock), false) = (lock, self.is_halting(spot)) {
                let place = state::task_id(&plan, spot);
                self.turn.effects.push(Effect::Lock { place, lock });
                self.state.returning.insert(spot);
            }
        }
    }

    /// Asks again for the activity of a task.
    pub(super) fn resume_live(&mut self, spot: TaskIx) {
        let plan = Arc::clone(&self.plan);
        let step = plan.step(spot.ix());
        let Some(live) = self.state.live.get(&spot).cloned() else {
            return;
        };
        let attempt = state::attempt(&plan, spot, live.attempt);
        let item_value = self.state.item(spot).cloned();
        match (live.doing, &step.work) {
            // The approval is requested again with all others.
            (ActivityKind::Asking, _) => {
                if self.state.unheard.remove(&spot) {
                    let asks = self.state.asks.values();
                    let of_it = asks.filter(|asked| asked.spot == Some(spot));
                    let again = of_it.map(|asked| Effect::Ask(Box::new(asked.ask.clone())));
                    self.turn.effects.extend(again);
                }
            }
            (ActivityKind::Leaving, _) => self.ask_gates(Some(spot), GatePoint::Leave),
            (ActivityKind::Looking | ActivityKind::Entering, _) => {
                self.state.end_activity(spot);
                self.state.enqueue(&plan, spot);
            }
            (ActivityKind::Checking, _) => self.after_gates(spot),
            (ActivityKind::Working, work) if let Some((at, _)) = wait_end(work, step.timeout, live.since) => {
                let timer = TimerKind::Wait(attempt);
                self.turn.effects.push(Effect::Wake { timer, at });
            }
            (ActivityKind::Working, _) => {
                let view = TaskScope { plan: &plan, state: &self.state, spot: Some(spot) };
                let reads = scope::work_reads(&view, step).unwrap_or_default();
                self.turn.effects.push(Effect::Watch {
                    attempt,
                    since: live.since,
                    item_value,
                    reads,
                    correction: self.correction(spot),
                    tool_args: self.tool_args(spot),
                });
            }
        }
    }
}
