//! Going on after a replay: what was in flight is asked for again.

use std::sync::Arc;

use super::advance::wait_end;
use super::scope::{self, View};
use super::state::{self, Doing, Spot};
use super::{Ask, Effect, GatePoint, Machine, Phase, Timer, Turn};
use crate::time::Moment;

impl Machine {
    /// What must be done, after a replay, for the run to go on.
    pub fn resume(&mut self, now: Moment) -> Turn {
        self.now = self.now.max(now);
        if self.state.outcome.is_some() || self.state.started.is_none() {
            return Turn::default();
        }
        self.state.locked.clear();
        self.resume_timers();
        self.resume_asks();
        self.resume_locks();
        let live: Vec<Spot> = self.state.live.keys().copied().collect();
        for spot in live {
            if !self.state.returning.contains(&spot) {
                self.resume_live(spot);
            }
        }
        if self.is_planning() {
            self.ask_planner_again();
        } else if self.state.phase == Phase::Verify {
            match self.state.judged {
                None => self.check_plan(),
                Some(_) => self.after_verify(),
            }
        }
        if self.state.phase == Phase::Confirm && !self.state.forced() {
            self.resume_confirmation();
        }
        // Who was told to end before may not have heard it.
        self.kill_live(self.state.forced());
        if self.state.stopping.is_some() {
            self.unstage();
        }
        self.advance();
        self.notice_budget();
        std::mem::take(&mut self.turn)
    }

    /// Asks again for what is waited for, after a resume.
    fn resume_asks(&mut self) {
        let asks: Vec<Ask> = (self.state.asks.values())
            .map(|asked| asked.ask.clone())
            .collect();
        for ask in asks {
            self.wait_for(ask);
        }
        let point = match self.state.phase {
            Phase::Gates => GatePoint::Start,
            Phase::Publish => GatePoint::Publish,
            _ => return,
        };
        let asked = self.state.asks.values().any(|asked| asked.spot.is_none());
        if asked || self.state.blocked.is_some() {
            return;
        }
        if !self.state.ending() {
            self.ask_gates(None, point);
        } else if point == GatePoint::Publish {
            // Nobody comes back to say that it publishes nothing.
            self.after_publish();
        }
    }

    fn resume_timers(&mut self) {
        self.run_timer();
        for (spot, due) in &self.state.resting {
            let made = self.state.place(*spot).map_or(0, |slot| slot.attempts);
            let attempt = state::attempt(&self.plan, *spot, made.saturating_add(1));
            self.turn.effects.push(Effect::Wake {
                timer: Timer::Retry(attempt),
                at: *due,
            });
        }
        self.resume_queue_timers();
    }

    /// The waits of places for their turn go on, and the time in between counts. Places whose
    /// step is still to be considered get their timer there.
    fn resume_queue_timers(&mut self) {
        let mut waiting: Vec<Spot> = self.state.locking.iter().copied().collect();
        let live = &self.state.live;
        for (step, slot) in (0_u32..).zip(&self.state.steps) {
            let many = slot.many.as_ref().filter(|_| !slot.state.is_final());
            let slots = many.map_or(&[][..], |many| &many.slots);
            let spots = (0_u32..).zip(slots).map(|(item, slot)| (Some(item), slot));
            let untried = spots.filter(|(_, slot)| slot.made() == 0 && slot.ended.is_none());
            waiting.extend(untried.map(|(item, _)| Spot { step, item }));
        }
        waiting.retain(|spot| !live.contains_key(spot));
        waiting.sort_unstable();
        waiting.dedup();
        for spot in waiting {
            self.queue_timer(spot);
        }
    }

    /// Asks for locks again: at once for what goes on, which keeps its room; what only waited
    /// gets its turn anew.
    fn resume_locks(&mut self) {
        let plan = Arc::clone(&self.plan);
        for spot in std::mem::take(&mut self.state.locking) {
            self.state.enqueue(&plan, spot);
        }
        // What has not begun holds no lock, though people are asked about it; a result of the cache
        // has begun.
        let has_result = |spot| (self.state.place(spot)).is_some_and(|slot| slot.result.is_some());
        let begun = |(spot, live): &(&Spot, &state::Live)| {
            live.doing != Doing::Asking || live.attempt > 0 || has_result(**spot)
        };
        let live = self.state.live.iter().filter(begun);
        let live: Vec<Spot> = live.map(|(spot, _)| *spot).collect();
        for spot in live {
            let lock = plan.step(spot.ix()).concurrency.clone();
            if let (Some(lock), false) = (lock, self.halting(spot)) {
                let place = state::place(&plan, spot);
                self.turn.effects.push(Effect::Lock { place, lock });
                self.state.returning.insert(spot);
            }
        }
    }

    /// Asks again for what was being done for a place.
    pub(super) fn resume_live(&mut self, spot: Spot) {
        let plan = Arc::clone(&self.plan);
        let step = plan.step(spot.ix());
        let Some(live) = self.state.live.get(&spot).cloned() else {
            return;
        };
        let attempt = state::attempt(&plan, spot, live.attempt);
        let item_value = self.state.item(spot).cloned();
        if matches!(live.doing, Doing::Staged | Doing::Working) {
            self.inherited.insert(spot);
        }
        match (live.doing, &step.work) {
            // People are asked again with all other questions.
            (Doing::Asking, _) => {
                if self.state.unheard.remove(&spot) {
                    let asks = self.state.asks.values();
                    let of_it = asks.filter(|asked| asked.spot == Some(spot));
                    let again = of_it.map(|asked| Effect::Ask(Box::new(asked.ask.clone())));
                    self.turn.effects.extend(again);
                }
            }
            (Doing::Leaving, _) => self.ask_gates(Some(spot), GatePoint::Leave),
            (Doing::Looking | Doing::Entering, _) => {
                self.state.free(spot);
                self.state.enqueue(&plan, spot);
            }
            (Doing::Checking, _) => self.after_gates(spot),
            (Doing::Working, work)
                if let Some((at, _)) = wait_end(work, step.timeout, live.since) =>
            {
                let timer = Timer::Wait(attempt);
                self.turn.effects.push(Effect::Wake { timer, at });
            }
            (Doing::Staged, _) => self.ask_of_staged(spot, attempt, live.since),
            (Doing::Working, _) => {
                let view = View {
                    plan: &plan,
                    state: &self.state,
                    spot: Some(spot),
                };
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
