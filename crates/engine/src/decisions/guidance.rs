//! The call of a planner about a step whose attempts fail: the machine decides the meaning of its answer.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use wf_base::name::Name;
use wf_core::{
    agent::{guidance_question, read_guidance},
    machine::{AttemptUsage, GuidanceReply, GuidanceRequest, InputKind, PlannerReply},
};
use wf_exec::StopLevel;
use wf_model::{ModelChoice, Plan, Planner, PlannerSource};

use crate::{
    memory,
    models::{asker::ModelAsker, call::ModelCallFailure},
    run::RunContext,
    session::{UnitResult, waiting::wait_for_stop},
};

/// The maximum time of a question, repair included (Silas 19.4.1).
const TIMEOUT: Duration = Duration::from_secs(90);

/// Asks the planner, and returns its output.
pub(crate) async fn ask(
    run: Arc<RunContext>,
    request: Box<GuidanceRequest>,
    stop: watch::Receiver<StopLevel>,
) -> UnitResult {
    let role = role(&run.plan);
    let mut request = request;
    request.calibration = memory::calibration(&run, &request.subject())?;
    let mut reply = GuidanceReply {
        attempt: request.attempt.clone(),
        said: PlannerReply::Nothing(format!(
            "wf.yaml gives no model the role `{role}`: add it under `roles`"
        )),
        must_not: request.calibration.must_not.clone(),
        calls: 0,
        usage: AttemptUsage::default(),
        asked: Vec::new(),
    };
    if let Some(model) = run.session.models.find(&ModelChoice::Role(role)) {
        let mut asker = ModelAsker::new(&run, model);
        reply.said = tokio::select! {
            asked = tokio::time::timeout(TIMEOUT, ask_once_more(&mut asker, &request)) => match asked {
                Ok(Ok(text)) => PlannerReply::Text(text),
                Ok(Err(unasked)) => PlannerReply::Nothing(unasked.reason),
                Err(_) => PlannerReply::Nothing(format!("it did not answer within {TIMEOUT:?}")),
            },
            () = wait_for_stop(stop) => PlannerReply::Nothing("it was stopped".into()),
        };
        (reply.calls, reply.usage) = (asker.calls(), asker.usage());
        reply.asked = std::mem::take(&mut asker.asked_models);
    }
    run.session.executor.ensure_supervised()?;
    Ok(Some(InputKind::Guided(reply)))
}

/// Returns the role of the planner of a plan; a program is asked for alternatives alone.
fn role(plan: &Plan) -> Name {
    match &plan.parts().planner {
        Some(Planner { source: PlannerSource::Role(role), .. }) => role.clone(),
        _ => Name::parse(Planner::USUAL_ROLE).expect("this is a name"),
    }
}

/// Asks once; an answer that cannot be used is repaired once.
async fn ask_once_more(
    asker: &mut ModelAsker<'_>,
    request: &GuidanceRequest,
) -> Result<String, ModelCallFailure> {
    let mut question = guidance_question(request);
    let answer = asker.ask(&question).await?;
    let Err(mistake) = read_guidance(&answer.text, &request.all_restrictions(asker.plan())) else {
        return Ok(answer.text);
    };
    question.append_turn(answer, Vec::new(), Some(&mistake.to_string()));
    Ok(asker.ask(&question).await?.text)
}
