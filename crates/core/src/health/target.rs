use std::time::Duration;

use wf_base::keywords;
use wf_base::time::Moment;

use super::BreakerChange;

/// The maximum number of characters of an error that is kept.
const ERROR_LIMIT: usize = 300;

keywords! {
    /// The kind of what is called.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum TargetKind {
        /// A model of wf.yaml.
        Model = "model",
    }
}

/// Something that is called, by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallTarget {
    /// Its kind.
    pub kind: TargetKind,
    /// Its name among its kind.
    pub name: String,
}

/// The last calls of a target, and its breaker, which leaves it alone for a while when it fails.
///
/// The breaker opens after some transient failures in a row. Once the time is over, one call may probe: while it runs,
/// others are refused; its success closes the breaker. A probe that never ends, since its caller was cancelled, holds
/// the others for as long as a failed one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetHealth {
    /// The transient failures in a row.
    pub failures: u32,
    /// The end of the time in which calls are refused; `None`: the breaker is closed.
    pub open_until: Option<Moment>,
    /// The time of the last call that succeeded.
    pub succeeded_at: Option<Moment>,
    /// The time of the last call that failed.
    pub failed_at: Option<Moment>,
    /// The error of that call.
    pub error: String,
}

impl TargetHealth {
    /// The number of transient failures in a row that open the breaker.
    pub const FAILURES: u32 = 3;
    /// The time for which the breaker is open.
    pub const OPEN: Duration = Duration::from_mins(1);

    /// Decides about a call. An error is the time until the next call is allowed.
    pub fn admit(&mut self, now: Moment) -> Result<(), Duration> {
        match self.open_until {
            None => Ok(()),
            Some(until) if until <= now => {
                self.open_until = Some(now.after(Self::OPEN));
                Ok(())
            }
            // A clock that was set back must not prolong the time.
            Some(until) => Err(until.since(now).min(Self::OPEN)),
        }
    }

    /// Notes that a call succeeded. Returns the change of the breaker.
    pub fn note_success(&mut self, now: Moment) -> Option<BreakerChange> {
        self.succeeded_at = Some(now);
        self.close()
    }

    /// Notes that a call failed. A failure that is not transient shows that the target works. Returns the change of the
    /// breaker.
    pub fn note_failure(&mut self, is_transient: bool, error: &str, now: Moment) -> Option<BreakerChange> {
        self.failed_at = Some(now);
        self.error = error.chars().take(ERROR_LIMIT).collect();
        if !is_transient {
            return self.close();
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures < Self::FAILURES {
            return None;
        }
        let until = now.after(Self::OPEN);
        self.open_until = Some(until);
        Some(BreakerChange::Opened { until })
    }

    /// Returns the end of the time in which calls are refused, if that is not over.
    pub fn open_at(&self, now: Moment) -> Option<Moment> {
        self.open_until.filter(|until| now < *until)
    }

    fn close(&mut self) -> Option<BreakerChange> {
        self.failures = 0;
        self.open_until.take().map(|_| BreakerChange::Closed)
    }
}

#[cfg(test)]
mod tests {
    use super::{BreakerChange, TargetHealth};
    use wf_base::time::Moment;

    fn at(second: i64) -> Moment {
        Moment::from_millis(second * 1_000)
    }

    #[test]
    fn a_breaker_opens_probes_and_closes() {
        let mut health = TargetHealth::default();
        assert_eq!(health.note_failure(true, "busy", at(0)), None);
        assert_eq!(health.note_failure(true, "busy", at(1)), None);
        assert_eq!(health.admit(at(2)), Ok(()));
        let opened = Some(BreakerChange::Opened { until: at(62) });
        assert_eq!(health.note_failure(true, "busy", at(2)), opened);
        assert_eq!(health.open_at(at(61)), Some(at(62)));
        assert_eq!(health.admit(at(12)).unwrap_err().as_secs(), 50);
        // The clock was set back.
        assert_eq!(health.admit(at(-1_000)), Err(TargetHealth::OPEN));
        assert_eq!(health.admit(at(62)), Ok(()));
        // The probe holds the others.
        assert_eq!(health.admit(at(63)).unwrap_err().as_secs(), 59);
        // It fails, and the next one succeeds.
        assert_eq!(health.note_failure(true, "busy", at(64)), Some(BreakerChange::Opened { until: at(124) }));
        assert_eq!(health.admit(at(124)), Ok(()));
        assert_eq!(health.note_success(at(125)), Some(BreakerChange::Closed));
        assert_eq!((health.failures, health.open_at(at(125))), (0, None));
        assert_eq!((health.succeeded_at, health.failed_at), (Some(at(125)), Some(at(64))));
    }

    #[test]
    fn a_permanent_failure_shows_that_the_target_works() {
        let mut health = TargetHealth::default();
        health.note_failure(true, "busy", at(0));
        health.note_failure(true, "busy", at(0));
        assert_eq!(health.note_failure(false, &"x".repeat(1_000), at(1)), None);
        assert_eq!((health.failures, health.error.len()), (0, 300));
        health.note_failure(true, "busy", at(2));
        assert_eq!(health.admit(at(2)), Ok(()));
    }
}
