use crate::{plans::plan::PlanParts, summary::SummaryBuilder};
use std::time::Duration;

/// The limits on replanning after a run failed: the numbers that weigh its loss, bound its rounds
/// and decide its next direction (artoo v0.8, Loss Hyperparameters).
///
/// **Invariant:** in a loaded plan, all numbers are finite, the weights are at least 0,
/// the thresholds from 0 to 1, `theta` and the time budget above 0.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplanSettings {
    /// The maximum number of rounds after the first; using all exhausts their part of the budget.
    pub max_replans: u32,
    /// The time that exhausts its part of the budget.
    pub time_budget: Duration,
    /// α: the weight of the distance D in the loss.
    pub alpha: f64,
    /// β: the weight of the implausibility P in the loss while nothing is used up.
    pub beta: f64,
    /// λ: the weight of the resource cost Ω in the loss.
    pub lambda: f64,
    /// w₁: the weight of the rounds in Ω.
    pub w1: f64,
    /// w₂: the weight of the time in Ω.
    pub w2: f64,
    /// ε: a change of the loss smaller than this is not significant.
    pub epsilon: f64,
    /// δ: a distance up to this is accepted.
    pub delta: f64,
    /// ρ: above this P, the approach is wrong; up to it, the environment is the cause.
    pub rho: f64,
    /// θ: from this Ω on, nothing more is tried.
    pub theta: f64,
    /// True if δ counts as 0: only a run that passes in full is accepted.
    pub strict: bool,
}

view! { settings: ReplanSettings in Effort {
    most max_replans,
    most time_budget as "time_budget_seconds",
    plain alpha,
    plain beta,
    plain lambda,
    plain w1,
    plain w2,
    plain epsilon,
    plain rho,
    most theta,
    most delta in Proof,
    most strict in Proof = strictness_text(*strict),
} }

fn strictness_text(is_strict: bool) -> (&'static str, f64) {
    if is_strict {
        ("yes: a run is accepted only if every check passes", 0.0)
    } else {
        ("no: a run is accepted if failing checks stay within delta", 1.0)
    }
}

/// The limits of replanning after a failure, and the tolerance for acceptance. Without replanning,
/// only a full pass is accepted, so an added tolerance is a weaker proof.
pub(crate) fn show_replan(parts: &PlanParts, summary: &mut SummaryBuilder) {
    match &parts.replan {
        Some(replan) => {
            lines!(summary in Effort { grant "replan" = "a failed run is re-planned", below "replan" = replan });
        }
        None => lines!(summary in Proof { most "replan.strict" = strictness_text(true); true }),
    }
}

impl Default for ReplanSettings {
    /// The default numbers of the source.
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

impl ReplanSettings {
    /// The accepted distance: δ, or 0 if only a run that passes in full is accepted.
    pub fn accepted_distance(&self) -> f64 {
        if self.strict { 0.0 } else { self.delta }
    }
}
