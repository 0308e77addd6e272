//! The parts of an agent's conversation that gates are asked about: the text they rewrite, and the text approvers see.

use serde_json::{Value, json};

use wf_base::{digest::Sha256Digest, redact::SecretMask};
use wf_core::{
    agent::{Message, ModelReply, ModelRequest, ToolResult, cut_result, estimate_tokens},
    gate::{GateContext, GateOutcome, asking},
    machine::{ExchangeQuestion, GatedExchange, RevisedResult, ShownContent},
};
use wf_exec::WorkError;
use wf_model::JsonObject;

use super::{
    session::{AgentDialogue, AgentSession},
    supplement::store_supplement,
};
use crate::{run::RunContext, session::EngineError};

/// The maximum number of characters of a text that is shown. What is signed is the digest of all of it.
const SHOWN_CHARS: usize = 4000;

/// Adds the part of a conversation that gates are asked about to their context.
pub(crate) async fn put_exchange(
    run: &RunContext,
    question: &ExchangeQuestion,
    context: &mut GateContext,
) -> Result<(), WorkError> {
    let unknown = |error: EngineError| WorkError::environmental(error.to_string());
    let session = run.agents.find_agent(&question.part.attempt).map_err(unknown)?;
    let mask = run.mask().await;
    let mut put = |name: &str, mut value: Value| {
        mask.value(&mut value);
        context.insert(name.into(), value);
    };
    let call = question.start.as_ref().map_or(question.part.call, |start| start.call);
    match (&question.body, &question.tool) {
        (None, _) => {
            let dialogue = session.dialogue.lock().await;
            put("message", json!(news(&dialogue, question)));
            put("tokens", json!(question.input));
            put("call", json!(call));
        }
        (Some(body), None) => {
            let reply: ModelReply = session.bodies.load_body(body)?;
            put("response", json!(reply.text));
            put("call", json!(question.part.call));
        }
        (Some(body), Some(tool)) => {
            let result: ToolResult = session.bodies.load_body(body)?;
            put("response", json!(result.text));
            put("tool_name", json!(tool));
            put("call", json!(question.part.call));
        }
    }
    Ok(())
}

/// Returns the answer of gates beside their results. A rewritten result is stored before it is reported.
pub(crate) async fn answer_exchange(
    run: &RunContext,
    question: ExchangeQuestion,
    gated: &GateOutcome,
) -> Result<GatedExchange, EngineError> {
    let session = run.agents.find_agent(&question.part.attempt)?;
    let mask = run.mask().await;
    let mut dialogue = session.dialogue.lock().await;
    let ExchangeQuestion { part, body, tool, .. } = &question;
    let mut revised = None;
    let text = gated.rewritten.get("response").and_then(Value::as_str);
    if let (Some(text), Some(position), Some(body), Some(_)) = (text, part.position, body, tool)
        && let Ok(old) = session.bodies.load_body::<ToolResult>(body)
    {
        let result = ToolResult { text: cut_result(text), ..old };
        let tokens = estimate_tokens(&result.text);
        revised = Some(RevisedResult { result: session.bodies.store_body(&result).await?, tokens });
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

/// Returns the text the model did not get before the next call.
pub(super) fn news(dialogue: &AgentDialogue, question: &ExchangeQuestion) -> String {
    let Some(reply) = dialogue.reply.as_ref().filter(|_| question.start.is_some()) else {
        return news_of(&dialogue.request);
    };
    let results = (0_u32..).zip(&reply.tool_calls).filter_map(|(position, _)| {
        let refused = question.refusals.get(&position).cloned();
        refused.or_else(|| dialogue.results.get(&position).map(|result| result.text.clone()))
    });
    let repairs = question.start.as_ref().and_then(|start| start.repairs.clone());
    results.chain(repairs).collect::<Vec<_>>().join("\n\n")
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

/// Returns the part that gates were asked about, with what they let the model get in its place.
fn exchange_content(
    session: &AgentSession,
    dialogue: &AgentDialogue,
    question: &ExchangeQuestion,
    gated: &GateOutcome,
    revised: Option<&Sha256Digest>,
    mask: &SecretMask,
) -> Result<ShownContent, WorkError> {
    let mut shown = JsonObject::new();
    let mut show = |name: &str, value: Value| drop(shown.insert(name.to_owned(), value));
    let digest = match (&question.body, &question.tool) {
        (None, _) => {
            show("message", json!(news(dialogue, question)));
            show("tokens", json!(question.input));
            request_digest(dialogue, question)
        }
        (Some(body), None) => {
            let reply: ModelReply = session.bodies.load_body(body)?;
            let calls = reply.tool_calls.iter();
            let calls: Vec<Value> =
                calls.map(|call| json!({"tool": call.tool, "arguments": call.arguments})).collect();
            show("reply", json!(reply.text));
            if !calls.is_empty() {
                show("tool_calls", json!(calls));
            }
            *body
        }
        (Some(body), Some(tool)) => {
            let body = revised.unwrap_or(body);
            let result: ToolResult = session.bodies.load_body(body)?;
            show("tool", json!(tool));
            show("result", json!(result.text));
            *body
        }
    };
    for addition in &gated.context {
        show(&format!("context of {}", addition.gate), json!(addition.text));
    }
    if let Some(addition) = &gated.reply {
        show(&format!("reply of {}", addition.gate), json!(addition.text));
    }
    let mut shown = Value::Object(shown);
    mask.value(&mut shown);
    cut(&mut shown);
    Ok(ShownContent { digest, shown })
}

/// Returns the digest of the next request.
fn request_digest(dialogue: &AgentDialogue, question: &ExchangeQuestion) -> Sha256Digest {
    let start = question.start.as_ref();
    if let Some(client) = start.and_then(|start| start.client) {
        return client.request;
    }
    let repairs = start.and_then(|start| start.repairs.as_deref());
    let request: ModelRequest = dialogue.next_request(&question.refusals, repairs);
    let cut = start.map(|start| start.context.clone()).unwrap_or_default();
    let bytes = serde_json::to_vec(request.after_cut(&cut).as_ref()).unwrap_or_default();
    Sha256Digest::of_bytes(&bytes)
}

/// Cuts the texts in a value.
fn cut(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(SHOWN_CHARS) {
                let left = text.get(end..).unwrap_or_default().chars().count();
                text.truncate(end);
                text.push_str(&format!("\n[… {left} more characters]"));
            }
        }
        Value::Array(all) => all.iter_mut().for_each(cut),
        Value::Object(all) => all.values_mut().for_each(cut),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{SHOWN_CHARS, cut};
    use serde_json::json;

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let mut value = json!({"calls": [{"arguments": "é".repeat(SHOWN_CHARS + 2)}], "tokens": 3});
        cut(&mut value);
        let text = value["calls"][0]["arguments"].as_str().unwrap();
        assert!(text.ends_with("é\n[… 2 more characters]"), "{text}");
        assert_eq!(value["tokens"], 3);
    }
}
