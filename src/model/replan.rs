use std::time::Duration;

/// How far a run that failed is tried another way: the numbers that weigh its loss, bound its
/// rounds and decide its next direction (artoo v0.8, Loss Hyperparameters).
///
/// **Invariant:** in a plan that was loaded, all numbers are finite, the weights are at least 0,
/// the thresholds from 0 to 1, `theta` and the time budget above 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Replan {
    /// How many rounds after the first use up their part of the budget.
    pub max_replans: u32,
    /// How much time uses up its part of the budget.
    pub time_budget: Duration,
    /// α: how much the distance D weighs in the loss.
    pub alpha: f64,
    /// β: how much the implausibility P weighs in the loss while nothing is used up.
    pub beta: f64,
    /// λ: how much the resource cost Ω weighs in the loss.
    pub lambda: f64,
    /// w₁: how much the rounds weigh in Ω.
    pub w1: f64,
    /// w₂: how much the time weighs in Ω.
    pub w2: f64,
    /// ε: a change of the loss smaller than this says nothing.
    pub epsilon: f64,
    /// δ: a distance up to this is accepted.
    pub delta: f64,
    /// ρ: above this P, the approach is wrong; up to it, the world is in its way.
    pub rho: f64,
    /// θ: from this Ω on, nothing more is tried.
    pub theta: f64,
    /// Whether δ counts as 0: only what holds in full is accepted.
    pub strict: bool,
}

impl Default for Replan {
    /// The numbers of the source.
    fn default() -> Self {
        Self {
            max_replans: 3,
            time_budget: Duration::from_mins(5),
            alpha: 0.6,
            beta: 0.3,
            lambda: 0.4,
            w1: 0.6,
            w2: 0.4,
            epsilon: 0.1,
            delta: 0.3,
            rho: 0.5,
            theta: 0.8,
            strict: false,
        }
    }
}

impl Replan {
    /// The distance that is accepted: δ, or 0 where only what holds in full is.
    pub fn accepted(&self) -> f64 {
        if self.strict { 0.0 } else { self.delta }
    }
}
