use std::time::Duration;

use wf_base::time::Moment;

use super::CallFailureClass;

/// A breaker, which leaves a failing model alone for a while.
///
/// It opens after some transient failures in a row. Once the time is over, one call may probe: while it runs, others
/// are refused; its success closes the breaker. A probe that never ends, since its caller was cancelled, holds the
/// others for as long as a failed one.
#[derive(Clone, Copy, Debug, Default)]
pub struct CircuitBreaker {
    /// The transient failures in a row.
    failures: u32,
    /// The end of the time in which calls are refused; `None`: it is closed.
    until: Option<Moment>,
}

impl CircuitBreaker {
    /// The number of transient failures in a row that open a breaker.
    pub const FAILURES: u32 = 3;
    /// The time for which a breaker is open.
    pub const OPEN: Duration = Duration::from_mins(1);

    /// Decides about a call. An error is the time until the next call is allowed.
    pub fn admit(&mut self, now: Moment) -> Result<(), Duration> {
        match self.until {
            None => Ok(()),
            Some(until) if until <= now => {
                self.until = Some(now.after(Self::OPEN));
                Ok(())
            }
            // A clock that was set back must not prolong the time.
            Some(until) => Err(until.since(now).min(Self::OPEN)),
        }
    }

    /// Notes the end of a call that was admitted; `None`: a success. A permanent failure shows that the provider
    /// works.
    pub fn note(&mut self, failure: Option<CallFailureClass>, now: Moment) {
        if failure != Some(CallFailureClass::Transient) {
            *self = Self::default();
            return;
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures >= Self::FAILURES {
            self.until = Some(now.after(Self::OPEN));
        }
    }
}
