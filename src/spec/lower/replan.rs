use std::time::Duration;

use crate::model::{OnStuck, Planner, Replan};
use crate::source::Spanned;
use crate::spec::ast;

/// What is said of replanning, completed by what holds where nothing is said.
pub(super) fn completed(said: &ast::Replan, defaults: &Replan) -> Replan {
    let number =
        |said: &Option<Spanned<f64>>, usual: f64| said.as_ref().map_or(usual, |said| said.value);
    let seconds = said
        .time_budget_seconds
        .as_ref()
        .map(|seconds| seconds.value);
    Replan {
        max_replans: said.max_replans.unwrap_or(defaults.max_replans),
        time_budget: seconds.map_or(defaults.time_budget, |seconds| {
            Duration::from_secs(seconds.into())
        }),
        alpha: number(&said.alpha, defaults.alpha),
        beta: number(&said.beta, defaults.beta),
        lambda: number(&said.lambda, defaults.lambda),
        w1: number(&said.w1, defaults.w1),
        w2: number(&said.w2, defaults.w2),
        epsilon: number(&said.epsilon, defaults.epsilon),
        delta: number(&said.delta, defaults.delta),
        rho: number(&said.rho, defaults.rho),
        theta: number(&said.theta, defaults.theta),
        strict: said.strict.unwrap_or(defaults.strict),
    }
}

/// How long a planner may take if nothing is said.
const USUAL: Duration = Duration::from_mins(1);

/// A planner as it is asked.
pub(super) fn planner(said: &ast::Planner) -> Planner {
    let words = said.exec.value.iter();
    Planner {
        exec: words.map(|word| word.value.clone()).collect(),
        timeout: said.timeout.as_ref().map_or(USUAL, |said| said.value.0),
    }
}

/// What follows where no declared way is left: who has a planner asks it, if nothing else is said.
pub(super) fn on_stuck(plan: &ast::Plan) -> OnStuck {
    match (plan.on_stuck, &plan.planner) {
        (Some(said), _) => said,
        (None, Some(_)) => OnStuck::ConsultPlanner,
        (None, None) => OnStuck::Abandon,
    }
}
