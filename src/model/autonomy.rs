use std::time::Duration;

/// The numbers by which it is proposed to let a goal do more, or less, by itself (Silas 5.1.6, 5.9).
///
/// **Invariant:** in a configuration that was loaded, `min_samples` and `most_executions` are at
/// least 1, `0 < widen_below < tighten_above <= 1`, `longest` and `window` are not zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Autonomy {
    /// How many repairs must have been done before anything is proposed.
    pub min_samples: u32,
    /// Below this correction rate it is proposed to widen.
    pub widen_below: f64,
    /// Above this correction rate it is proposed to tighten. It is more than `widen_below`: between
    /// the two nothing is proposed, so that proposals do not swing.
    pub tighten_above: f64,
    /// No proposal allows more repairs than this.
    pub most_executions: u32,
    /// No proposal holds longer than this.
    pub longest: Duration,
    /// Only repairs of this time count.
    pub window: Duration,
}

impl Default for Autonomy {
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
