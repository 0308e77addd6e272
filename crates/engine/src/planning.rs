//! The call of a planner for alternatives: the machine decides what its answer means.

use std::sync::Arc;

use tokio::sync::watch;

use wf_base::name::Name;
use wf_core::agent::{planner_answer, planner_question};
use wf_core::machine::{AttemptUsage, InputKind, PlanRequest, PlannerReply};
use wf_exec::{StopLevel, planner};
use wf_model::{ModelChoice, Planner, PlannerSource};

use super::dispatch::UnitResult;
use super::gating;
use super::run::RunContext;
use super::supply::wait_for_stop;

/// Asks the planner, and returns its output.
pub(super) async fn ask(
    run: Arc<RunContext>,
    request: Box<PlanRequest>,
    stop: watch::Receiver<StopLevel>,
) -> UnitResult {
    let mut usage = AttemptUsage::default();
    let said = match &run.plan.parts().planner {
        Some(Planner { source: PlannerSource::Role(role), timeout }) => {
            let asked = ask_model(&run, role, &request, &mut usage);
            tokio::select! {
                said = tokio::time::timeout(*timeout, asked) => {
                    said.unwrap_or_else(|_| Err(format!("it did not answer within {timeout:?}")))
                }
                () = wait_for_stop(stop) => Err("it was stopped".into()),
            }
        }
        Some(planner) => ask_program(&run, planner, &request, stop).await,
        None => Err("the plan has no `planner`".into()),
    };
    run.session.executor.ensure_supervised()?;
    Ok(Some(InputKind::Planned {
        round: request.round.round,
        said: said.map_or_else(PlannerReply::Nothing, PlannerReply::Text),
        usage,
    }))
}

async fn ask_program(
    run: &Arc<RunContext>,
    planner: &Planner,
    request: &PlanRequest,
    stop: watch::Receiver<StopLevel>,
) -> Result<String, String> {
    let program = planner::as_check(planner).ok_or("the planner is no program")?;
    let site = gating::site(run, None).await.map_err(|unable| unable.reason)?;
    planner::ask(&program, request, &site, stop).await
}

async fn ask_model(
    run: &RunContext,
    role: &Name,
    request: &PlanRequest,
    usage: &mut AttemptUsage,
) -> Result<String, String> {
    let model = run.session.models.find(&ModelChoice::Role(role.clone()));
    let model =
        model.ok_or_else(|| format!("wf.yaml gives no model the role `{role}`: add it under `roles`"))?;
    let called = run.call_model(model, &planner_question(request)).await;
    (usage.tokens, usage.cost) = (called.usage.total(), called.cost);
    match called.outcome {
        Ok(reply) => Ok(planner_answer(&reply.text).to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
