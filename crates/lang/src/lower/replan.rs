use std::time::Duration;

use crate::{ast, decode::LowerSpec};
use wf_base::source::Spanned;
use wf_model::{OnStuck, Planner, PlannerSource, ReplanSettings};

/// The number of re-planning rounds of stuck agents where the plan gives none (Silas 19.5.3).
const ROUNDS_OF_STUCK_AGENTS: u32 = 2;

/// The replan settings of a plan. Where they are implied, nothing says that a partial result is accepted.
pub(super) fn of_plan(plan: &ast::PlanSpec, default_settings: &ReplanSettings) -> Option<ReplanSettings> {
    if plan.replans_stuck_agents() {
        let max_replans = ROUNDS_OF_STUCK_AGENTS;
        return Some(ReplanSettings { max_replans, strict: true, ..default_settings.clone() });
    }
    plan.replan.as_ref().map(|replan| completed(replan, default_settings))
}

/// The replan settings of a plan, completed by the defaults.
pub(super) fn completed(replan: &ast::ReplanSpec, default_settings: &ReplanSettings) -> ReplanSettings {
    let number = |setting: &Option<Spanned<f64>>, usual: f64| setting.lower().unwrap_or(usual);
    let seconds = replan.time_budget_seconds.lower();
    ReplanSettings {
        max_replans: replan.max_replans.unwrap_or(default_settings.max_replans),
        time_budget: seconds
            .map_or(default_settings.time_budget, |seconds| Duration::from_secs(seconds.into())),
        alpha: number(&replan.alpha, default_settings.alpha),
        beta: number(&replan.beta, default_settings.beta),
        lambda: number(&replan.lambda, default_settings.lambda),
        w1: number(&replan.w1, default_settings.w1),
        w2: number(&replan.w2, default_settings.w2),
        epsilon: number(&replan.epsilon, default_settings.epsilon),
        delta: number(&replan.delta, default_settings.delta),
        rho: number(&replan.rho, default_settings.rho),
        theta: number(&replan.theta, default_settings.theta),
        strict: replan.strict.unwrap_or(default_settings.strict),
    }
}

/// The default timeout of a planner.
const USUAL: Duration = Duration::from_mins(1);

/// The model of a planner.
pub(super) fn planner(planner_spec: &ast::PlannerSpec) -> Option<Planner> {
    let exec = planner_spec.exec.lower().map(PlannerSource::Exec);
    let source = exec.or_else(|| planner_spec.role.lower().map(PlannerSource::Role))?;
    Some(Planner { source, timeout: planner_spec.timeout.lower().unwrap_or(USUAL) })
}

/// The reaction when no declared alternative is left: by default, a plan with a planner asks it.
pub(super) fn on_stuck(plan: &ast::PlanSpec) -> OnStuck {
    match (plan.on_stuck, &plan.planner) {
        (Some(said), _) => said,
        (None, Some(_)) => OnStuck::ConsultPlanner,
        (None, None) => OnStuck::Abandon,
    }
}
