use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use wf_base::time::{Clock, Moment};

/// A clock moved by its owner, for tests: time passes only where nothing has to be waited for.
#[derive(Clone, Debug)]
pub struct TestClock {
    now: Arc<AtomicI64>,
    /// The end of the simulated time.
    pub end: Moment,
}

impl TestClock {
    /// A clock standing at an instant, with its end at another.
    pub fn new(now: Moment, end: Moment) -> Self {
        let now = Arc::new(AtomicI64::new(now.millis()));
        Self { now, end }
    }

    /// Moves on to an instant, never back; true if the end is later.
    pub fn advance_to(&self, to: Option<Moment>) -> bool {
        let to = to.filter(|to| *to < self.end);
        let millis = to.unwrap_or(self.end).millis();
        self.now.fetch_max(millis, Ordering::Relaxed);
        to.is_some()
    }
}

impl Clock for TestClock {
    fn now(&self) -> Moment {
        Moment::from_millis(self.now.load(Ordering::Relaxed))
    }
}
