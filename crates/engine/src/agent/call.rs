//! The calls of the model of an agent.

use std::sync::Arc;

use tokio::sync::watch;

use wf_core::{
    agent::ModelReply,
    machine::{
        Attempt, AttemptUsage, CallEffort, InputKind, ModelCall, ModelCallEnd, ModelCallOutcome,
        RequestedTool,
    },
};
use wf_exec::StopLevel;
use wf_gateway::ModelCallResult;

use super::{
    parse::AgentCall,
    session::{AgentDialogue, AgentSession},
    supplement,
};
use crate::{
    models::call::{ModelCallFailure, PaidTries, passed_over},
    run::RunContext,
    session::{EngineError, UnitResult, waiting::wait_for_stop},
};

/// Calls the model of an agent. Its reply is stored before it is reported.
pub(crate) async fn call_model(
    run: Arc<RunContext>,
    model_call: ModelCall,
    stop: watch::Receiver<StopLevel>,
) -> UnitResult {
    let session = run.agents.find_agent(&model_call.attempt)?;
    let mut dialogue = session.dialogue.lock().await;
    dialogue.begin_call(&model_call);
    let ModelCall { attempt, call, context, supplement, .. } = model_call;
    let mut end = unsent(attempt, call);
    let added = match (&supplement.reply, supplement::added_context(&session, &supplement)) {
        (None, Ok(added)) => added,
        (Some(given), _) => {
            supplement::answer_by_gate(&session, &mut dialogue, given, &mut end);
            return Ok(Some(session.replied(&dialogue, end)));
        }
        (None, Err(unable)) => {
            dialogue.fail_call(unable, &mut end);
            return Ok(Some(session.replied(&dialogue, end)));
        }
    };
    if let Some(added) = &added {
        dialogue.log_note(&format!("[context of gates]\n{added}"));
    }
    let mut request = dialogue.request.after_cut(&context);
    if let Some(added) = added {
        request.to_mut().add_context(added);
    }
    let estimated_input = request.estimated_tokens();
    // The machine has asked the budget of the run itself.
    let mut set_aside = run.account.nothing_set_aside();
    let reserve = run.call_reserve(&session.model, &request);
    if let Err(unpaid) = set_aside.change_around(reserve).await {
        dialogue.fail_call(unpaid.into(), &mut end);
        return Ok(Some(session.replied(&dialogue, end)));
    }
    let paid = PaidTries::new(&mut set_aside, AttemptUsage::default(), reserve);
    let began = run.session.clock.now();
    let answered = tokio::select! {
        answered = run.call_model(&session.model, &request, paid) => Some(answered),
        () = wait_for_stop(stop) => None,
    };
    let took = run.session.clock.now().since(began).as_millis();
    end.effort.duration_ms = u64::try_from(took).unwrap_or(u64::MAX);
    if answered.is_none() {
        // What a stopped call is billed is not known; that it was sent is.
        end.effort.usage.input = estimated_input;
        end.effort.cost = session.model.price.map_or(end.effort.cost, |price| price.cost(end.effort.usage));
    }
    if let Some(answered) = answered {
        session.take_answer(&mut dialogue, answered, &mut end).await?;
    }
    Ok(Some(session.replied(&dialogue, end)))
}

/// Creates the end of a call not sent yet.
fn unsent(attempt: Attempt, call: u32) -> ModelCallEnd {
    ModelCallEnd {
        attempt,
        call,
        outcome: ModelCallOutcome::Stopped,
        answered_by: None,
        effort: CallEffort::of_one_request(),
    }
}

impl AgentSession {
    /// Returns the report of the end of a model call.
    fn replied(&self, dialogue: &AgentDialogue, end: ModelCallEnd) -> InputKind {
        let mistake = dialogue.mistake(&self.outputs);
        InputKind::Replied { end: Box::new(end), mistake }
    }

    /// Takes the outcome of a sent call.
    async fn take_answer(
        &self,
        dialogue: &mut AgentDialogue,
        result: ModelCallResult,
        end: &mut ModelCallEnd,
    ) -> Result<(), EngineError> {
        end.effort.requests = result.tries;
        (end.effort.usage, end.effort.cost) = (result.usage, result.cost);
        for note in &result.breakers {
            dialogue.log_note(&format!("[breaker] {note}"));
        }
        end.effort.breakers.clone_from(&result.breakers);
        for failed in &result.failed_calls {
            dialogue.log_note(&format!("[failed] {failed}"));
        }
        end.effort.passed_over = passed_over(&result);
        end.outcome = match result.outcome {
            Ok(reply) => {
                let outcome = ModelCallOutcome::Replied {
                    model: result.model,
                    reply: self.bodies.store_body(&reply).await?,
                    stop: reply.stop,
                    reply_tokens: reply.estimated_tokens(),
                    tool_calls: self.screen(&reply),
                };
                dialogue.log_reply(&reply);
                dialogue.reply = Some(reply);
                outcome
            }
            Err(error) => dialogue.fail(ModelCallFailure::from(&error)),
        };
        Ok(())
    }

    /// Returns the tools a reply calls, each with the mistake for which it is not executed.
    fn screen(&self, reply: &ModelReply) -> Vec<RequestedTool> {
        let screened = reply.tool_calls.iter().map(|call| {
            // A program of its own brings its tools.
            let parsed = self.client.is_none().then(|| self.parse(call)).transpose();
            RequestedTool {
                tool: call.tool.chars().take(64).collect(),
                mistake: parsed.as_ref().err().map(ToString::to_string),
                calls: parsed
                    .as_ref()
                    .ok()
                    .and_then(Option::as_ref)
                    .map(AgentCall::calls)
                    .unwrap_or_default(),
                children: parsed.ok().flatten().and_then(AgentCall::children).map(Box::new),
            }
        });
        screened.collect()
    }
}
