//! The call of a planner for alternatives: the machine decides the meaning of its answer.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use wf_base::name::Name;
use wf_core::{
    agent::{ModelRequest, planner_answer, planner_question},
    machine::{InputKind, PlanReply, PlanRequest, PlannerCalls, PlannerReply},
};
use wf_exec::{StopLevel, planner};
use wf_model::{ModelChoice, Planner, PlannerSource};

use super::gating;
use crate::{
    memory,
    models::asker::ModelAsker,
    nested::generated,
    run::RunContext,
    session::{UnitResult, waiting::wait_for_stop},
};

/// The answer of a planner, and its usage.
struct PlannerAnswer {
    said: Result<String, String>,
    calls: PlannerCalls,
}

/// Asks the planner, and returns its output.
pub(crate) async fn ask(
    run: Arc<RunContext>,
    request: Box<PlanRequest>,
    stop: watch::Receiver<StopLevel>,
) -> UnitResult {
    let mut request = request;
    request.calibration = memory::calibration(&run, &request.subject())?;
    let answer = match &run.plan.parts().planner {
        Some(Planner { source: PlannerSource::Role(role), timeout }) => {
            ask_model(&run, role, &planner_question(&request), *timeout, stop).await
        }
        Some(planner) => PlannerAnswer::without_model(ask_program(&run, planner, &request, stop).await),
        None => PlannerAnswer::without_model(Err("the plan has no `planner`".into())),
    };
    run.session.executor.ensure_supervised()?;
    let PlannerAnswer { said, calls } = answer;
    let problems = match &said {
        Ok(text) => generated::proposal_problems(&run, text).await,
        Err(_) => Vec::new(),
    };
    Ok(Some(InputKind::Planned(PlanReply {
        round: request.round.round,
        again: request.rejected.is_some(),
        said: said.map_or_else(PlannerReply::Nothing, PlannerReply::Text),
        must_not: request.calibration.must_not,
        problems,
        calls,
    })))
}

impl PlannerAnswer {
    fn without_model(said: Result<String, String>) -> Self {
        Self { said, calls: PlannerCalls::default() }
    }
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
    request: &ModelRequest,
    timeout: Duration,
    stop: watch::Receiver<StopLevel>,
) -> PlannerAnswer {
    let Some(model) = run.session.models.find(&ModelChoice::Role(role.clone())) else {
        let reason = format!("wf.yaml gives no model the role `{role}`: add it under `roles`");
        return PlannerAnswer::without_model(Err(reason));
    };
    let mut asker = ModelAsker::new(run, model);
    let planner_reply = tokio::select! {
        reply = tokio::time::timeout(timeout, asker.ask(request)) => match reply {
            Ok(Ok(reply)) => Ok(planner_answer(&reply.text).to_owned()),
            Ok(Err(unasked)) => Err(unasked.reason),
            Err(_) => Err(format!("it did not answer within {timeout:?}")),
        },
        () = wait_for_stop(stop) => Err("it was stopped".into()),
    };
    let calls = PlannerCalls { usage: asker.usage(), asked: std::mem::take(&mut asker.asked_models) };
    PlannerAnswer { said: planner_reply, calls }
}
