//! The call of a planner for alternatives: the machine decides the meaning of its answer.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use wf_base::name::Name;
use wf_core::{
    agent::{ModelRequest, planner_answer, planner_question},
    machine::{InputKind, PlanReply, PlanRequest, PlannerCalls, PlannerReply},
};
use wf_exec::{StopLevel, WorkError, planner};
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
    reply: PlannerReply,
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
        Some(planner) => {
            let printed = ask_program(&run, planner, &request, stop).await;
            let reply =
                printed.map_or_else(|unable| PlannerReply::Nothing(unable.reason), PlannerReply::Text);
            PlannerAnswer::without_model(reply)
        }
        None => PlannerAnswer::without_model(PlannerReply::Nothing("the plan has no `planner`".into())),
    };
    run.session.executor.ensure_supervised()?;
    let PlannerAnswer { reply, calls } = answer;
    let problems = match &reply {
        PlannerReply::Text(text) => generated::proposal_problems(&run, text).await,
        PlannerReply::Nothing(_) => Vec::new(),
    };
    Ok(Some(InputKind::Planned(PlanReply {
        round: request.round.round,
        again: request.rejected.is_some(),
        said: reply,
        must_not: request.calibration.must_not,
        problems,
        calls,
    })))
}

impl PlannerAnswer {
    fn without_model(reply: PlannerReply) -> Self {
        Self { reply, calls: PlannerCalls::default() }
    }
}

async fn ask_program(
    run: &Arc<RunContext>,
    planner: &Planner,
    request: &PlanRequest,
    stop: watch::Receiver<StopLevel>,
) -> Result<String, WorkError> {
    let program = planner::as_check(planner);
    let program = program.ok_or_else(|| WorkError::logical("the planner is no program"))?;
    let site = gating::site(run, None).await?;
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
        return PlannerAnswer::without_model(PlannerReply::Nothing(reason));
    };
    let mut asker = ModelAsker::new(run, model);
    let reply = tokio::select! {
        called = tokio::time::timeout(timeout, asker.ask(request)) => match called {
            Ok(Ok(reply)) => PlannerReply::Text(planner_answer(&reply.text).to_owned()),
            Ok(Err(unasked)) => PlannerReply::Nothing(unasked.reason),
            Err(_) => PlannerReply::Nothing(format!("it did not answer within {timeout:?}")),
        },
        () = wait_for_stop(stop) => PlannerReply::Nothing("it was stopped".into()),
    };
    let calls = PlannerCalls { usage: asker.usage(), asked: std::mem::take(&mut asker.asked_models) };
    PlannerAnswer { reply, calls }
}
