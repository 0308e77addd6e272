//! The setting and firing of timers.

use wf_base::time::Moment;
use wf_core::machine::{InputKind, TimerKind};
use wf_model::{StepWork, WaitCondition};

use super::dispatcher::RunDispatcher;
use crate::run::current_step;

impl RunDispatcher {
    /// Fires the timers that are due.
    pub(super) fn fire_due_timers(&mut self) {
        let wall = self.run.session.clock.now();
        while let Some((at, timer)) = self.timers.pop(wall) {
            let question = match &timer {
                TimerKind::Ask { number } => self.asks.get(number).map(|(ask, _)| ask.clone()),
                _ => None,
            };
            match question {
                Some(ask) => self.poll_approval_last(ask),
                None => self.process_input(at, InputKind::Woke { timer }),
            }
        }
    }

    /// Sets a timer.
    pub(super) fn set_timer(&mut self, at: Moment, timer: TimerKind) {
        let step = match &timer {
            TimerKind::Wait(attempt) => Some(current_step::step_of(&self.run, &attempt.place)),
            _ => None,
        };
        // Its limit, if that is earlier, is a duration.
        let named =
            |work: &StepWork| matches!(work, StepWork::Wait(WaitCondition::Until(until)) if *until == at);
        if step.is_some_and(|step| named(&step.work)) {
            let wall = self.run.session.clock.now();
            self.timers.set_on_wall(at, wall, timer);
        } else {
            self.timers.set(at, self.now, timer);
        }
    }
}
