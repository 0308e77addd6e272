//! Timers that are set and go off.

use crate::machine::{Happening, Timer};
use crate::model::{Wait, Work};
use crate::time::Moment;

use super::dispatch::Dispatcher;
use super::steps;

impl Dispatcher {
    /// Lets the timers go off whose time has come.
    pub(super) fn ring(&mut self) {
        let wall = self.run.session.clock.now();
        while let Some((at, timer)) = self.timers.pop(wall) {
            let asked = match &timer {
                Timer::Ask { number } => self.asks.get(number).map(|(ask, _)| ask.clone()),
                _ => None,
            };
            match asked {
                Some(ask) => self.look_last(ask),
                None => self.happen(at, Happening::Woke { timer }),
            }
        }
    }

    /// Sets a timer.
    pub(super) fn wake(&mut self, at: Moment, timer: Timer) {
        let step = match &timer {
            Timer::Wait(attempt) => Some(steps::step_of(&self.run, &attempt.place)),
            _ => None,
        };
        // Its limit, if that is earlier, is a while.
        let named = |work: &Work| matches!(work, Work::Wait(Wait::Until(until)) if *until == at);
        if step.is_some_and(|step| named(&step.work)) {
            let wall = self.run.session.clock.now();
            self.timers.set_on_wall(at, wall, timer);
        } else {
            self.timers.set(at, self.now, timer);
        }
    }
}
