//! The rate at which something may be done: so much at once, and then once in each interval.

use std::time::Duration;

use wf_base::time::Moment;

/// A limit on a rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateLimit {
    /// The number permitted at once.
    pub burst: u32,
    /// The time after which one more is permitted.
    pub interval: Duration,
}

/// The use of a rate: the moment when all of it is available again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RateUse(Moment);

impl RateUse {
    /// Uses the rate once; the error is the time until that is permitted.
    pub fn take(&mut self, limit: RateLimit, now: Moment) -> Result<(), Duration> {
        if let Some(wait) = self.wait(limit, now) {
            return Err(wait);
        }
        self.0 = self.0.max(now).after(limit.interval);
        Ok(())
    }

    /// Returns the time until the rate may be used again, if it is used up.
    pub fn wait(&mut self, limit: RateLimit, now: Moment) -> Option<Duration> {
        let whole = limit.interval.saturating_mul(limit.burst);
        // After a clock that was set back, nobody waits longer than after a burst.
        self.0 = self.0.min(now.after(whole));
        let debt = self.0.max(now).after(limit.interval).since(now);
        (debt > whole).then(|| debt.saturating_sub(whole))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{RateLimit, RateUse};
    use wf_base::time::Moment;

    const LIMIT: RateLimit = RateLimit { burst: 3, interval: Duration::from_secs(10) };

    fn at(seconds: i64) -> Moment {
        Moment::from_millis(seconds * 1_000)
    }

    #[test]
    fn a_burst_is_permitted_and_then_one_in_each_interval() {
        let mut used = RateUse::default();
        for _ in 0..3 {
            assert_eq!(used.take(LIMIT, at(100)), Ok(()));
        }
        assert_eq!(used.wait(LIMIT, at(100)), Some(Duration::from_secs(10)));
        assert_eq!(used.take(LIMIT, at(104)), Err(Duration::from_secs(6)));
        assert_eq!(used.take(LIMIT, at(110)), Ok(()));
        assert_eq!(used.take(LIMIT, at(110)), Err(Duration::from_secs(10)));
        assert_eq!(used.wait(LIMIT, at(1_000)), None);
        let later = (0..4).map(|_| used.take(LIMIT, at(1_000)).is_ok()).collect::<Vec<_>>();
        assert_eq!(later, [true, true, true, false], "no more than a burst is saved up");
    }

    #[test]
    fn a_clock_that_was_set_back_locks_nobody_out() {
        let mut used = RateUse::default();
        (0..3).for_each(|_| used.take(LIMIT, at(1_000_000)).unwrap());
        assert_eq!(used.take(LIMIT, at(100)), Err(Duration::from_secs(10)));
        assert_eq!(used.take(LIMIT, at(110)), Ok(()));
    }
}
