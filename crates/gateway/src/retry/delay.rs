use std::time::Duration;

use super::{CallFailureClass, ModelFailure};

/// The number of calls after a failed one, and the delays before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryDelays {
    /// The maximum number of calls after the first.
    pub further: u32,
    /// The delay before the second call; each further one is twice as long.
    pub base: Duration,
    /// The longest delay that is not the provider's wish.
    pub cap: Duration,
    /// The longest delay that a provider is granted.
    pub retry_after_cap: Duration,
}

impl Default for RetryDelays {
    fn default() -> Self {
        Self {
            further: 2,
            base: Duration::from_secs(1),
            cap: Duration::from_secs(30),
            retry_after_cap: Duration::from_mins(1),
        }
    }
}

impl RetryDelays {
    /// Returns the delay before the next call, after `tries` calls of which the last failed so; `None`: there is no
    /// next call.
    pub fn before_next(&self, tries: u32, failure: &ModelFailure) -> Option<Duration> {
        if failure.class() == CallFailureClass::Permanent || tries > self.further {
            return None;
        }
        let doublings = tries.saturating_sub(1).min(31);
        let own = self.base.saturating_mul(1 << doublings).min(self.cap);
        let wish = failure.retry_after.unwrap_or_default().min(self.retry_after_cap);
        Some(own.max(wish))
    }
}
