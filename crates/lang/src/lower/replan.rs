use std::time::Duration;

use crate::ast;
use wf_base::source::Spanned;
use wf_model::{OnStuck, Planner, PlannerSource, ReplanSettings};

/// The number of re-planning rounds of stuck agents where the plan gives none (Silas 19.5.3).
const ROUNDS_OF_STUCK_AGENTS: u32 = 2;

/// The replan settings of a plan. Where they are implied, nothing says that a partial result is accepted.
pub(super) fn of_plan(plan: &ast::PlanSpec, defaults: &ReplanSettings) -> Option<ReplanSettings> {
    if plan.replans_stuck_agents() {
        let max_replans = ROUNDS_OF_STUCK_AGENTS;
        return Some(ReplanSettings { max_replans, strict: true, ..defaults.clone() });
    }
    plan.replan.as_ref().map(|said| completed(said, defaults))
}

/// The replan settings of a plan, completed by the defaults.
pub(super) fn completed(said: &ast::ReplanSpec, defaults: &ReplanSettings) -> ReplanSettings {
    let number = |said: &Option<Spanned<f64>>, usual: f64| said.as_ref().map_or(usual, |said| said.value);
    let seconds = said.time_budget_seconds.as_ref().map(|seconds| seconds.value);
    ReplanSettings {
        max_replans: said.max_replans.unwrap_or(defaults.max_replans),
        time_budget: seconds.map_or(defaults.time_budget, |seconds| Duration::from_secs(seconds.into())),
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

/// The default timeout of a planner.
const USUAL: Duration = Duration::from_mins(1);

/// The model of a planner.
pub(super) fn planner(said: &ast::PlannerSpec) -> Option<Planner> {
    let exec = said.exec.as_ref().map(|exec| {
        let words = exec.value.iter().map(|word| word.value.clone());
        PlannerSource::Exec(words.collect())
    });
    let role = || Some(PlannerSource::Role(said.role.as_ref()?.value.clone()));
    let source = exec.or_else(role)?;
    Some(Planner { source, timeout: said.timeout.as_ref().map_or(USUAL, |said| said.value.0) })
}

/// The reaction when no declared alternative is left: by default, a plan with a planner asks it.
pub(super) fn on_stuck(plan: &ast::PlanSpec) -> OnStuck {
    match (plan.on_stuck, &plan.planner) {
        (Some(said), _) => said,
        (None, Some(_)) => OnStuck::ConsultPlanner,
        (None, None) => OnStuck::Abandon,
    }
}
