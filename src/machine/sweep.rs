//! What a failure, a cancellation or the end of the time does to all that has not ended.

use super::end::Final;
use super::state::{self, Doing, Live, Spot};
use super::{Attempt, Effect, Exit, Fact, Machine, Phase};
use crate::model::{OnFailure, Wait, Work};

impl Machine {
    /// Lets the failure of a step stop or cancel the others, as the policy says. A round ends when
    /// everything that can run has run, whatever the policy says: what is measured must not
    /// follow from how much ran at once (artoo v0.8, R4b).
    pub(super) fn stop(&mut self, spot: Spot) {
        let policy = self.plan.parts().policy.on_failure;
        if policy == OnFailure::Continue
            || self.plan.parts().replan.is_some()
            || self.state.stopping.is_some()
            || self.plan.is_finally(spot.ix())
        {
            return;
        }
        let step = self.plan.step(spot.ix()).id.clone();
        self.emit(Fact::RunStopping { step });
        self.sweep();
    }

    /// Ends every main step that may not begin any more, and what runs if it must end.
    pub(super) fn sweep(&mut self) {
        let ending = self.state.ending();
        let forced = self.state.forced();
        if forced || self.state.never_began() {
            self.sweep_finally();
        }
        if self.state.never_began() {
            self.withdraw(None);
        }
        let killing = ending || self.plan.parts().policy.on_failure == OnFailure::Cancel;
        for step in 0..u32::try_from(self.plan.parts().main).unwrap_or(u32::MAX) {
            let over = self.state.slot(step).state.is_final();
            let all = ending || self.state.blocked.is_some();
            if !over && (all || !self.asks_status(step)) {
                self.sweep_step(step, killing);
            }
        }
        if killing {
            self.kill_live(forced);
        } else {
            self.unstage();
        }
    }

    /// Ends the places of a step that nothing runs for; with `resting`, also those between two
    /// attempts.
    pub(super) fn sweep_step(&mut self, step: u32, resting: bool) {
        let places: Vec<Spot> = match &self.state.slot(step).many {
            None => vec![Spot { step, item: None }],
            Some(many) => (0..u32::try_from(many.slots.len()).unwrap_or(u32::MAX))
                .map(|item| Spot {
                    step,
                    item: Some(item),
                })
                .collect(),
        };
        let end = if self.state.ending() {
            Final::cancelled(self.ending_why())
        } else if let Some(why) = &self.state.blocked {
            Final::skipped(why.clone())
        } else {
            Final::skipped(self.stopping_why())
        };
        for spot in places {
            let live = self.state.live.get(&spot);
            let begun = |live: &Live| !matches!(live.doing, Doing::Looking | Doing::Entering);
            let asked = live.is_some_and(|live| live.doing == Doing::Asking && live.attempt == 0);
            let works = live.is_some_and(begun) && !asked;
            let tried = (self.state.place(spot)).is_some_and(|slot| slot.made() > 0);
            if self.is_over(spot) || works || tried && !resting {
                continue;
            }
            if asked {
                self.withdraw(Some(spot));
            }
            let end = if tried {
                Final::cancelled(self.halting_why())
            } else {
                end.clone()
            };
            self.finish(spot, end);
        }
    }

    /// Ends the `finally` steps that have not begun, when the end is forced.
    fn sweep_finally(&mut self) {
        if matches!(self.state.phase, Phase::Finally | Phase::Gates) {
            let first = u32::try_from(self.plan.parts().main).unwrap_or(u32::MAX);
            for step in first..u32::try_from(self.state.steps.len()).unwrap_or(u32::MAX) {
                if !self.state.slot(step).state.is_final() {
                    self.sweep_step(step, true);
                }
            }
        }
    }

    /// Ends what runs and shall not go on.
    pub(super) fn kill_live(&mut self, force: bool) {
        let ending = self.state.ending();
        let gated = matches!(self.state.phase, Phase::Gates | Phase::Publish);
        let checked = self.state.phase == Phase::Verify && self.state.judged.is_none();
        if ending && (checked || gated || self.is_planning()) {
            self.turn.effects.push(Effect::Kill {
                attempt: None,
                force,
            });
        }
        let live: Vec<(Spot, u32, Doing)> = self
            .state
            .live
            .iter()
            .map(|(spot, live)| (*spot, live.attempt, live.doing))
            .collect();
        for (spot, number, doing) in live {
            if !self.halting(spot) {
                continue;
            }
            self.stop_waiting(spot);
            let attempt = state::attempt(&self.plan, spot, number);
            let timed = matches!(
                self.plan.step(spot.ix()).work,
                Work::Wait(Wait::For(_) | Wait::Until(_))
            );
            match doing {
                Doing::Working if timed => self.cancel_wait(spot, attempt),
                Doing::Asking => self.cancel_ask(spot, attempt),
                _ => self.turn.effects.push(Effect::Kill {
                    attempt: Some(attempt),
                    force,
                }),
            }
        }
    }

    /// Lets what wants its lock back after a resume go on without it: it is about to be ended.
    fn stop_waiting(&mut self, spot: Spot) {
        let lock = self.plan.step(spot.ix()).concurrency.clone();
        if let (Some(lock), true) = (lock, self.state.returning.remove(&spot)) {
            let place = state::place(&self.plan, spot);
            self.turn.effects.push(Effect::Unlock { place, lock });
            self.resume_live(spot);
        }
    }

    /// Ends what waits for people.
    fn cancel_ask(&mut self, spot: Spot, attempt: Attempt) {
        self.withdraw(Some(spot));
        let decides = matches!(self.plan.step(spot.ix()).work, Work::Approve(_));
        let asked_after = self
            .state
            .place(spot)
            .is_some_and(|slot| slot.result.is_some());
        if decides && attempt.attempt > 0 && !asked_after {
            self.end_attempt(attempt, Exit::Cancelled);
        }
        self.finish(spot, Final::cancelled(self.halting_why()));
    }

    fn cancel_wait(&mut self, spot: Spot, attempt: Attempt) {
        self.end_attempt(attempt, Exit::Cancelled);
        self.finish(spot, Final::cancelled(self.halting_why()));
    }
}
