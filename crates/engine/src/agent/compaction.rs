//! The call of the compactor: the machine decides what its answer means.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::session::AgentDialogue;
use crate::dispatch::UnitResult;
use crate::run::RunContext;
use crate::supply::wait_for_stop;
use wf_base::name::Name;
use wf_core::agent::{ANSWER_TOKENS, ModelRequest, QUESTION_TOKENS, compactor_question};
use wf_core::machine::{AttemptUsage, CompactionReply, CompactionRequest, CompactorLimits, InputKind};
use wf_exec::StopLevel;
use wf_model::{AgentEngine, ModelChoice, ModelDefinition, ModelTable};

/// The maximum time of a call (Silas 5.7).
const TIMEOUT: Duration = Duration::from_secs(2);

/// The role of the compactor.
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
pub(in super::super) async fn compact(
    run: Arc<RunContext>,
    request: Box<CompactionRequest>,
    stop: watch::Receiver<StopLevel>,
) -> UnitResult {
    let CompactionRequest { start, groups } = *request;
    let session = run.agents.get(&start.attempt)?;
    let mut dialogue = session.dialogue.lock().await;
    let question = compactor_question(&dialogue.request, &groups);
    let mut reply =
        CompactionReply { start, said: Err(String::new()), model: None, usage: AttemptUsage::default() };
    match find(&run.session.models) {
        None => reply.said = Err(format!("wf.yaml gives no model the role `{ROLE}`")),
        Some(model) => match obstacle(model, &question) {
            Some(why) => reply.said = Err(why),
            None => ask(&run, model, &question, stop, &mut reply).await,
        },
    }
    dialogue.log_compaction(&reply.said);
    Ok(Some(InputKind::Compacted(Box::new(reply))))
}

fn obstacle(model: &ModelDefinition, question: &ModelRequest) -> Option<String> {
    let tokens = question.estimated_tokens().saturating_add(question.max_output);
    let (name, window) = (&model.name, model.context_window);
    (tokens > window)
        .then(|| format!("the question is too long for model `{name}`: {tokens} of {window} tokens"))
}

async fn ask(
    run: &RunContext,
    model: &ModelDefinition,
    question: &ModelRequest,
    stop: watch::Receiver<StopLevel>,
    reply: &mut CompactionReply,
) {
    reply.model = Some(model.name.clone());
    let called = tokio::select! {
        called = tokio::time::timeout(TIMEOUT, run.call_model(model, question)) => {
            called.map_err(|_| format!("it did not answer within {TIMEOUT:?}"))
        }
        () = wait_for_stop(stop) => Err("it was stopped".into()),
    };
    match called {
        Ok(called) => {
            reply.usage = AttemptUsage { attempts: 0, tokens: called.usage.total(), cost: called.cost };
            reply.said = called.outcome.map(|reply| reply.text).map_err(|error| error.to_string());
            reply.model = Some(called.model);
        }
        Err(why) => {
            // What a call is billed that nobody waited for is not known; that it was sent is.
            let tokens = question.estimated_tokens();
            let cost = model.price.map(|price| price.cost(tokens, 0, 0)).unwrap_or_default();
            reply.usage = AttemptUsage { attempts: 0, tokens, cost };
            reply.said = Err(why);
        }
    }
}

impl AgentDialogue {
    /// Notes in the log what the compactor said.
    fn log_compaction(&mut self, said: &Result<String, String>) {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        match said {
            Ok(text) => self.log_note(&format!("[compactor] {}", one_line(text))),
            Err(why) => self.log_note(&format!("[compactor] no answer: {why}")),
        }
    }
}
