use crate::decode::{MappingFields, SpecDecoder, record};
use wf_base::{
    diag::{Code, Diagnostic},
    source::Spanned,
};

/// The maximum weight: a larger one would make the other parts of the loss negligible.
const HEAVIEST: f64 = 1000.0;

record! {
    /// The replanning after a failed run: the numbers that weigh its loss, bound its rounds and
    /// decide its next direction.
    pub struct ReplanSpec as "a replan" {
        /// The maximum number of rounds after the first, at which their part of the budget is used
        /// up: 3 if absent.
        optional max_replans: u32,
        /// The number of seconds at which their part of the budget is used up: 300 if absent.
        optional time_budget_seconds: Spanned<u32>,
        /// α: the weight of the distance D in the loss: 0.6 if absent.
        optional alpha: Spanned<f64>,
        /// β: the weight of the implausibility P in the loss: 0.3 if absent.
        optional beta: Spanned<f64>,
        /// λ: the weight of the resource cost Ω in the loss: 0.4 if absent.
        optional lambda: Spanned<f64>,
        /// w₁: the weight of the rounds in Ω: 0.6 if absent.
        optional w1: Spanned<f64>,
        /// w₂: the weight of the time in Ω: 0.4 if absent.
        optional w2: Spanned<f64>,
        /// ε: a change of the loss smaller than this is insignificant: 0.1 if absent.
        optional epsilon: Spanned<f64>,
        /// δ: a distance up to this is accepted: 0.3 if absent.
        optional delta: Spanned<f64>,
        /// ρ: above this P, the approach is wrong; up to it, the environment is: 0.5 if absent.
        optional rho: Spanned<f64>,
        /// θ: from this Ω on, nothing more is tried: 0.8 if absent.
        optional theta: Spanned<f64>,
        /// True if δ counts as 0, so that only a full pass is accepted: if absent, `true` where the
        /// run begins with `CI` set, else `false`.
        optional strict: bool,
    }
    finish check_weights;
}

fn check_weights(replan: &mut ReplanSpec, _fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if let Some(time) = replan.time_budget_seconds.as_ref().filter(|time| time.value == 0) {
        let message = "a time budget of 0 seconds is exhausted before the first step";
        let mistake = Diagnostic::new(Code::ValueWrong, time.span, message);
        decoder.emit(mistake.with_help("write 1 or more, or remove it for the default of 300"));
    }
    let weights = [
        ("alpha", &replan.alpha),
        ("beta", &replan.beta),
        ("lambda", &replan.lambda),
        ("w1", &replan.w1),
        ("w2", &replan.w2),
    ];
    for (key, weight) in weights {
        within(key, weight.as_ref(), HEAVIEST, decoder);
    }
    let thresholds = [
        ("epsilon", &replan.epsilon),
        ("delta", &replan.delta),
        ("rho", &replan.rho),
        ("theta", &replan.theta),
    ];
    for (key, threshold) in thresholds {
        within(key, threshold.as_ref(), 1.0, decoder);
    }
    if let Some(theta) = replan.theta.as_ref().filter(|theta| theta.value == 0.0) {
        let message = "with a `theta` of 0 the budget is exhausted before the first step";
        let mistake = Diagnostic::new(Code::ValueWrong, theta.span, message);
        decoder.emit(mistake.with_help("write more than 0; to disable re-planning, remove `replan`"));
    }
}

/// Notes a number that is not between 0 and its maximum.
fn within(key: &str, number: Option<&Spanned<f64>>, most: f64, decoder: &mut SpecDecoder<'_>) {
    if let Some(misfit) = number.filter(|said| !(0.0..=most).contains(&said.value)) {
        let message = format!("`{key}` must be between 0 and {most}");
        decoder.emit(Diagnostic::new(Code::ValueWrong, misfit.span, message));
    }
}
