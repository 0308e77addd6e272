use std::time::Duration;

/// The thresholds for proposing more or less autonomy for a goal (Silas 5.1.6, 5.9).
///
/// **Invariant:** in a configuration that was loaded, `min_samples` and `most_executions` are at
/// least 1, `0 < widen_below < tighten_above <= 1`, `longest` and `window` are not zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AutonomyThresholds {
    /// The number of completed repairs required before any proposal.
    pub min_samples: u32,
    /// Below this correction rate, widening is proposed.
    pub widen_below: f64,
    /// Above this correction rate, tightening is proposed. It is more than `widen_below`: between
    /// the two nothing is proposed, so that proposals do not oscillate.
    pub tighten_above: f64,
    /// No proposal allows more repairs than this.
    pub most_executions: u32,
    /// No proposal is valid for longer than this.
    pub longest: Duration,
    /// Only repairs within this time window count.
    pub window: Duration,
}

impl Default for AutonomyThresholds {
    fn default() -> Self {
        Self {
            min_samples: 30,
            widen_below: 0.05,
            tighten_above: 0.2,
            most_executions: 100,
            longest: Duration::from_hours(90 * 24),
            window: Duration::from_hours(90 * 24),
        }
    }
}
