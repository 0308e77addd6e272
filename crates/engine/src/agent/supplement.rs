//! The texts of gates for a model call: how they reach the model, or take its place.

use wf_base::redact::SecretMask;
use wf_core::{
    agent::{ModelReply, StopReason, context_block, estimate_tokens},
    gate::GateOutcome,
    machine::{AddedContext, CallSupplement, ExchangeQuestion, GateReply, ModelCallEnd, ModelCallOutcome},
};
use wf_exec::WorkError;
use wf_model::TokenUsage;

use super::session::{AgentDialogue, AgentSession};
use crate::{
    run::{RunContext, attempt_task::step_of},
    session::EngineError,
};

/// Stores the texts that gates give to a model call, masked. The inputs of a gate are not known: if the step reads what
/// is from outside, or its agent was given such text, so is its context.
pub(super) async fn store_supplement(
    run: &RunContext,
    session: &AgentSession,
    question: &ExchangeQuestion,
    gated: &GateOutcome,
    mask: &SecretMask,
) -> Result<CallSupplement, EngineError> {
    let mut supplement = CallSupplement::default();
    if let Some(last) = gated.context.last() {
        let step = step_of(run, &session.task.attempt.task_id);
        let is_untrusted =
            question.untrusted.is_some() || !session.untrusted.is_empty() || step.untrusted_input().is_some();
        let source = |gate: &dyn std::fmt::Display| format!("gate {gate}");
        let blocks = gated
            .context
            .iter()
            .map(|given| context_block(&source(&given.gate), &mask.text(&given.text), is_untrusted));
        let text = blocks.collect::<Vec<_>>().join("\n\n");
        supplement.context = Some(AddedContext {
            tokens: estimate_tokens(&text),
            text: session.bodies.store_body(&text).await?,
            untrusted: is_untrusted.then(|| source(&last.gate)),
        });
    }
    if let Some(given) = &gated.reply {
        let reply = ModelReply {
            text: mask.text(&given.text).into_owned(),
            tool_calls: Vec::new(),
            stop: StopReason::EndTurn,
            usage: TokenUsage::default(),
        };
        let reply = session.bodies.store_body(&reply).await?;
        supplement.reply = Some(GateReply { gate: given.gate.clone(), reply });
    }
    Ok(supplement)
}

/// Answers a model call by the reply of a gate: nothing is sent, and nothing paid.
pub(super) fn answer_by_gate(
    session: &AgentSession,
    dialogue: &mut AgentDialogue,
    gate_reply: &GateReply,
    end: &mut ModelCallEnd,
) {
    (end.effort.requests, end.answered_by) = (0, Some(gate_reply.gate.clone()));
    let reply: ModelReply = match session.bodies.load_body(&gate_reply.reply) {
        Ok(reply) => reply,
        Err(unable) => return dialogue.fail_call(unable, end),
    };
    end.outcome = ModelCallOutcome::Replied {
        model: session.model.name.clone(),
        reply: gate_reply.reply,
        stop: reply.stop,
        reply_tokens: reply.estimated_tokens(),
        tool_calls: Vec::new(),
    };
    dialogue.log_note(&format!("[answered by gate] {}", gate_reply.gate));
    dialogue.log_reply(&reply);
    dialogue.reply = Some(reply);
}

/// Returns the context that gates add to a model call.
pub(super) fn added_context(
    session: &AgentSession,
    supplement: &CallSupplement,
) -> Result<Option<String>, WorkError> {
    supplement.context.as_ref().map(|added| session.bodies.load_body(&added.text)).transpose()
}
