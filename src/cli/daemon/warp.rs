use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::time::{Clock, Moment};

/// A clock that its owner moves, for tests: no time passes but what nobody needs to wait for.
#[derive(Clone, Debug)]
pub struct Warp {
    now: Arc<AtomicI64>,
    /// Where it ends.
    pub end: Moment,
}

impl Warp {
    /// A clock that stands at an instant, and ends at another.
    pub fn new(now: Moment, end: Moment) -> Self {
        let now = Arc::new(AtomicI64::new(now.millis()));
        Self { now, end }
    }

    /// Moves on to an instant, never back; answers whether that is before the end.
    pub fn go(&self, to: Option<Moment>) -> bool {
        let to = to.filter(|to| *to < self.end);
        let millis = to.unwrap_or(self.end).millis();
        self.now.fetch_max(millis, Ordering::Relaxed);
        to.is_some()
    }
}

impl Clock for Warp {
    fn now(&self) -> Moment {
        Moment::from_millis(self.now.load(Ordering::Relaxed))
    }
}
