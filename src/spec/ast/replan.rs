use crate::diag::{Code, Diagnostic};
use crate::source::Spanned;
use crate::spec::decode::{Decoder, Fields, record};

/// The most that a weight may be: more would make the other parts of the loss nothing.
const HEAVIEST: f64 = 1000.0;

record! {
    /// How far a run that failed is tried another way: the numbers that weigh its loss, bound its
    /// rounds and decide its next direction.
    pub struct Replan as "a replan" {
        /// How many rounds may follow the first; as many use up their part of the budget: 3 if
        /// absent.
        optional max_replans: u32,
        /// How many seconds use up their part of the budget: 300 if absent.
        optional time_budget_seconds: Spanned<u32>,
        /// α: how much the distance D weighs in the loss: 0.6 if absent.
        optional alpha: Spanned<f64>,
        /// β: how much the implausibility P weighs in the loss: 0.3 if absent.
        optional beta: Spanned<f64>,
        /// λ: how much the resource cost Ω weighs in the loss: 0.4 if absent.
        optional lambda: Spanned<f64>,
        /// w₁: how much the rounds weigh in Ω: 0.6 if absent.
        optional w1: Spanned<f64>,
        /// w₂: how much the time weighs in Ω: 0.4 if absent.
        optional w2: Spanned<f64>,
        /// ε: a change of the loss smaller than this says nothing: 0.1 if absent.
        optional epsilon: Spanned<f64>,
        /// δ: a distance up to this is accepted: 0.3 if absent.
        optional delta: Spanned<f64>,
        /// ρ: above this P, the approach is wrong; up to it, the world is in its way: 0.5 if absent.
        optional rho: Spanned<f64>,
        /// θ: from this Ω on, nothing more is tried: 0.8 if absent.
        optional theta: Spanned<f64>,
        /// Whether δ counts as 0, so that only what holds in full is accepted: if absent, `true`
        /// where the run begins with `CI` set, else `false`.
        optional strict: bool,
    }
    finish in_bounds;
}

fn in_bounds(replan: &mut Replan, _: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    if let Some(time) = replan
        .time_budget_seconds
        .as_ref()
        .filter(|time| time.value == 0)
    {
        let message = "a time budget of 0 seconds is used up before the first step";
        let mistake = Diagnostic::new(Code::ValueWrong, time.span, message);
        decoder.note(mistake.help("write 1 or more, or remove it to have 300"));
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
        let message = "with a `theta` of 0 the budget is used up before the first step";
        let mistake = Diagnostic::new(Code::ValueWrong, theta.span, message);
        decoder.note(mistake.help("write more than 0; without `replan` nothing is tried again"));
    }
}

/// Notes a number that is not from 0 to the most that it may be.
fn within(key: &str, said: Option<&Spanned<f64>>, most: f64, decoder: &mut Decoder<'_>) {
    if let Some(said) = said.filter(|said| !(0.0..=most).contains(&said.value)) {
        let message = format!("`{key}` must be from 0 to {most}");
        decoder.note(Diagnostic::new(Code::ValueWrong, said.span, message));
    }
}
