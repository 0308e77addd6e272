//! Going on after a replay: what was in flight is asked for again.

use std::sync::Arc;

use super::scope::{self, View};
use super::state::{self, Doing, Spot};
use super::{Effect, Machine, Phase, Timer, Turn};
use crate::model::{Wait, Work};
use crate::time::Moment;

impl Machine {
    /// What must be done, after a replay, for the run to go on.
    pub fn resume(&mut self, now: Moment) -> Turn {
        self.now = now;
        if self.state.outcome.is_some() || self.state.started.is_none() {
            return Turn::default();
        }
        self.state.locked.clear();
        self.resume_timers();
        let live: Vec<Spot> = self.state.live.keys().copied().collect();
        for spot in live {
            self.resume_live(spot);
        }
        let locking: Vec<Spot> = self.state.locking.iter().copied().collect();
        for spot in locking {
            if let Some(lock) = self.plan.step(spot.ix()).concurrency.clone() {
                let place = state::place(&self.plan, spot);
                self.turn.effects.push(Effect::Lock { place, lock });
            }
        }
        if self.state.phase == Phase::Verify {
            match self.state.judged {
                None => self.check_plan(),
                Some(_) => self.after_verify(),
            }
        }
        self.advance();
        std::mem::take(&mut self.turn)
    }

    fn resume_timers(&mut self) {
        if let (Some(limit), Some(started)) = (self.plan.parts().timeout, self.state.started) {
            let at = started.after(limit);
            self.turn.effects.push(Effect::Wake {
                timer: Timer::Run,
                at,
            });
        }
        for (spot, due) in &self.state.resting {
            let made = self.state.place(*spot).map_or(0, |slot| slot.attempts);
            let attempt = state::attempt(&self.plan, *spot, made.saturating_add(1));
            self.turn.effects.push(Effect::Wake {
                timer: Timer::Retry(attempt),
                at: *due,
            });
        }
    }

    fn resume_live(&mut self, spot: Spot) {
        let plan = Arc::clone(&self.plan);
        let step = plan.step(spot.ix());
        let Some(live) = self.state.live.get(&spot).cloned() else {
            return;
        };
        let attempt = state::attempt(&plan, spot, live.attempt);
        let item_value = self.state.item(spot).cloned();
        match (live.doing, &step.work) {
            (Doing::Looking, _) => {
                self.state.free(spot);
                self.state.enqueue(&plan, spot);
            }
            (Doing::Checking, _) if step.verify.is_empty() => {
                let standing = scope::unchecked_standing(None);
                self.finish(spot, super::end::Final::good(standing));
            }
            (Doing::Checking, _) => self.ask_checks(spot, attempt),
            (Doing::Working, Work::Wait(Wait::For(wait))) => {
                let at = live
                    .since
                    .after(step.timeout.map_or(*wait, |limit| limit.min(*wait)));
                self.turn.effects.push(Effect::Wake {
                    timer: Timer::Wait(attempt),
                    at,
                });
            }
            (Doing::Working, Work::Wait(Wait::Until(at))) => {
                let limit = step.timeout.map(|limit| live.since.after(limit));
                let at = limit.map_or(*at, |limit| limit.min(*at));
                self.turn.effects.push(Effect::Wake {
                    timer: Timer::Wait(attempt),
                    at,
                });
            }
            (Doing::Working, _) => {
                let view = View {
                    plan: &plan,
                    state: &self.state,
                    spot: Some(spot),
                };
                let reads = scope::work_reads(&view, step).unwrap_or_default();
                self.turn.effects.push(Effect::Watch {
                    attempt,
                    item_value,
                    reads,
                });
            }
        }
    }
}
