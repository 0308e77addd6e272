use std::collections::BTreeMap;

use crate::machine::Timer;
use crate::time::Moment;

/// The timers of a run, by when they go off.
#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BTreeMap<(Moment, u64), Timer>,
    set: u64,
}

impl Timers {
    pub(super) fn set(&mut self, at: Moment, timer: Timer) {
        self.set += 1;
        self.due.insert((at, self.set), timer);
    }

    /// When the next timer goes off.
    pub(super) fn next(&self) -> Option<Moment> {
        self.due.keys().next().map(|(at, _)| *at)
    }

    /// The next timer, which went off.
    pub(super) fn pop(&mut self) -> Option<(Moment, Timer)> {
        self.due.pop_first().map(|((at, _), timer)| (at, timer))
    }
}
