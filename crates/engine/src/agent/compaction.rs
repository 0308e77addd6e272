//! The call of the compactor: the machine decides the meaning of its answer.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use wf_base::name::Name;
use wf_core::{
    agent::{ANSWER_TOKENS, ModelRequest, QUESTION_TOKENS, compactor_question},
    machine::{AttemptUsage, CompactionReply, CompactionRequest, CompactorLimits, InputKind},
};
use wf_exec::StopLevel;
use wf_model::{AgentEngine, ModelChoice, ModelDefinition, ModelTable};

use crate::{
    models::asker::ModelAsker,
    run::RunContext,
    session::{UnitResult, waiting::wait_for_stop},
};

/// The maximum time of a call (Silas 5.7).
const TIMEOUT: Duration = Duration::from_secs(2);

const ROLE: &str = "compactor";

/// Returns the compactor of an agent, if `wf.yaml` has one. A program of its own cuts its conversation itself.
pub(super) fn compactor(models: &ModelTable, engine: AgentEngine) -> Option<CompactorLimits> {
    let model = find(models).filter(|_| engine == AgentEngine::Builtin)?;
    Some(CompactorLimits {
        model: model.name.clone(),
        max_input: QUESTION_TOKENS,
        max_output: ANSWER_TOKENS.min(model.max_output),
        price: models.dearest_price(model),
    })
}

fn find(models: &ModelTable) -> Option<&ModelDefinition> {
    models.find(&ModelChoice::Role(Name::parse(ROLE).ok()?))
}

/// Asks the compactor which groups of turns stay, and returns its text.
pub(crate) async fn compact(
    run: Arc<RunContext>,
    request: Box<CompactionRequest>,
    stop: watch::Receiver<StopLevel>,
) -> UnitResult {
    let CompactionRequest { start, groups } = *request;
    let session = run.agents.find_agent(&start.attempt)?;
    let mut dialogue = session.dialogue.lock().await;
    let question = compactor_question(&dialogue.request, &groups);
    let mut reply =
        CompactionReply { start, said: Err(String::new()), asked: None, usage: AttemptUsage::default() };
    match find(&run.session.models) {
        None => reply.said = Err(format!("wf.yaml gives no model the role `{ROLE}`")),
        Some(model) => ask(&run, model, &question, stop, &mut reply).await,
    }
    dialogue.log_compaction(&reply);
    Ok(Some(InputKind::Compacted(Box::new(reply))))
}

async fn ask(
    run: &RunContext,
    model: &ModelDefinition,
    request: &ModelRequest,
    stop: watch::Receiver<StopLevel>,
    reply: &mut CompactionReply,
) {
    let mut asker = ModelAsker::new(run, model);
    reply.said = tokio::select! {
        said = tokio::time::timeout(TIMEOUT, asker.ask(request)) => match said {
            Ok(Ok(said)) => Ok(said.text),
            Ok(Err(failed)) => Err(failed.reason),
            Err(_) => Err(format!("it did not answer within {TIMEOUT:?}")),
        },
        () = wait_for_stop(stop) => Err("it was stopped".into()),
    };
    reply.usage = asker.usage();
    reply.asked = asker.asked_models.pop().map(Box::new);
}
