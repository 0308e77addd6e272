//! The parts of an agent's conversation that gates are asked about, and what they rewrite.

use serde_json::{Value, json};

use super::exchange_content::exchange_content;
use super::session::AgentDialogue;
use super::supplement::store_supplement;
use crate::run::RunContext;
use crate::session::EngineError;
use wf_core::agent::{Message, ModelReply, ModelRequest, ToolResult, cut_result, estimate_tokens};
use wf_core::gate::{GateContext, GateOutcome, asking};
use wf_core::machine::{ExchangeQuestion, GatedExchange, RevisedResult};
use wf_exec::WorkError;

/// Adds the part of a conversation that gates are asked about to their context.
pub(in super::super) async fn put_exchange(
    run: &RunContext,
    question: &ExchangeQuestion,
    context: &mut GateContext,
) -> Result<(), WorkError> {
    let unknown = |error: EngineError| WorkError::environmental(error.to_string());
    let session = run.agents.get(&question.part.attempt).map_err(unknown)?;
    let mask = run.mask().await;
    let mut put = |name: &str, mut value: Value| {
        mask.value(&mut value);
        context.insert(name.into(), value);
    };
    let call = question.start.as_ref().map_or(question.part.call, |start| start.call);
    match (&question.body, &question.tool) {
        (None, _) => {
            let dialogue = session.dialogue.lock().await;
            put("message", json!(dialogue.news(question)));
            put("tokens", json!(question.input));
            put("call", json!(call));
        }
        (Some(body), None) => {
            let reply: ModelReply = session.bodies.get(body)?;
            put("response", json!(reply.text));
            put("call", json!(question.part.call));
        }
        (Some(body), Some(tool)) => {
            let result: ToolResult = session.bodies.get(body)?;
            put("response", json!(result.text));
            put("tool_name", json!(tool));
            put("call", json!(question.part.call));
        }
    }
    Ok(())
}

/// Returns the answer of gates beside their results. A rewritten result is stored before it is reported.
pub(in super::super) async fn answer_exchange(
    run: &RunContext,
    question: ExchangeQuestion,
    gated: &GateOutcome,
) -> Result<GatedExchange, EngineError> {
    let session = run.agents.get(&question.part.attempt)?;
    let mask = run.mask().await;
    let mut dialogue = session.dialogue.lock().await;
    let ExchangeQuestion { part, body, tool, .. } = &question;
    let mut revised = None;
    let text = gated.rewritten.get("response").and_then(Value::as_str);
    if let (Some(text), Some(position), Some(body), Some(_)) = (text, part.position, body, tool)
        && let Ok(old) = session.bodies.get::<ToolResult>(body)
    {
        let result = ToolResult { text: cut_result(text), ..old };
        let tokens = estimate_tokens(&result.text);
        revised = Some(RevisedResult { result: session.bodies.put(&result).await?, tokens });
        if session.client.is_none() {
            dialogue.results.insert(position, result);
        }
    }
    let supplement = store_supplement(run, &session, &question, gated, &mask).await?;
    let mut content = None;
    if !asking(&gated.results).is_empty() {
        let revised = revised.as_ref().map(|revised| &revised.result);
        let shown = exchange_content(&session, &dialogue, &question, gated, revised, &mask);
        content = shown.ok();
    }
    let mistake = dialogue.mistake(&session.outputs);
    let ExchangeQuestion { part, start, .. } = question;
    Ok(GatedExchange { part, start, mistake, revised, content, supplement })
}

impl AgentDialogue {
    /// Returns the text that the model did not get before the next call.
    pub(super) fn news(&self, question: &ExchangeQuestion) -> String {
        let Some(reply) = self.reply.as_ref().filter(|_| question.start.is_some()) else {
            return news_of(&self.request);
        };
        let results = (0_u32..).zip(&reply.tool_calls).filter_map(|(position, _)| {
            let refused = question.refusals.get(&position).cloned();
            refused.or_else(|| self.results.get(&position).map(|result| result.text.clone()))
        });
        let repairs = question.start.as_ref().and_then(|start| start.repairs.clone());
        results.chain(repairs).collect::<Vec<_>>().join("\n\n")
    }
}

/// Returns the texts of a request after the last reply in it.
fn news_of(request: &ModelRequest) -> String {
    let is_reply = |message: &Message| matches!(message, Message::Assistant { .. });
    let from = request.messages.iter().rposition(is_reply).map_or(0, |last| last + 1);
    let mut texts = Vec::new();
    for message in request.messages.get(from..).unwrap_or_default() {
        match message {
            Message::User { text } => texts.push(text.as_str()),
            Message::Tool { results } => texts.extend(results.iter().map(|result| result.text.as_str())),
            Message::Assistant { .. } | Message::Omitted { .. } => {}
        }
    }
    texts.join("\n\n")
}
