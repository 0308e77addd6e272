//! What the passing of time does.

use std::sync::Arc;

use super::state::Spot;
use super::{Effect, Fact, Machine, Phase, Timer};
use crate::time::Moment;

impl Machine {
    pub(super) fn woke(&mut self, timer: Timer) {
        match timer {
            Timer::Retry(attempt) => {
                if let Some(spot) = self.spot(&attempt.place)
                    && self.is_due(spot, attempt.attempt)
                {
                    self.state.resting.remove(&spot);
                    let plan = Arc::clone(&self.plan);
                    self.state.enqueue(&plan, spot);
                }
            }
            Timer::Wait(attempt) => self.wait_over(&attempt),
            Timer::Queue(place) => self.waited_too_long(&place),
            Timer::Ask { number } => self.ask_over(number),
            Timer::Budget { ms } => self.budget_woke(ms),
            Timer::Run => {
                let late = self.run_limit().is_some_and(|limit| limit <= self.now);
                if late && !self.state.ending() && self.state.phase < Phase::Finally {
                    self.emit(Fact::RunTimedOut);
                    self.sweep();
                }
            }
        }
    }

    /// Whether an attempt is the next one of a place, and may begin.
    fn is_due(&self, spot: Spot, attempt: u32) -> bool {
        let made = self.state.place(spot).map_or(0, |slot| slot.attempts);
        let due = self.state.resting.get(&spot);
        attempt == made.saturating_add(1) && due.is_some_and(|due| *due <= self.now)
    }

    /// When the run has taken too long.
    fn run_limit(&self) -> Option<Moment> {
        Some(self.state.started?.after(self.plan.parts().timeout?))
    }

    /// Sets the timer of the whole run.
    pub(super) fn run_timer(&mut self) {
        self.budget_timer();
        if let Some(at) = self.run_limit() {
            let timer = Timer::Run;
            self.turn.effects.push(Effect::Wake { timer, at });
        }
    }
}
