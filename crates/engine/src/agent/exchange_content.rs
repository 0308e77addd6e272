//! The parts of an agent's conversation as approvers see them.

use serde_json::{Value, json};

use super::session::{AgentDialogue, AgentSession};
use wf_base::digest::Sha256Digest;
use wf_base::redact::SecretMask;
use wf_core::agent::{ModelReply, ModelRequest, ToolResult};
use wf_core::gate::GateOutcome;
use wf_core::machine::{ExchangeQuestion, ShownContent};
use wf_exec::WorkError;
use wf_model::JsonObject;

/// The maximum number of characters of a text that is shown. What is signed is the digest of all of it.
const SHOWN_CHARS: usize = 4000;

/// Returns the part that gates were asked about, with what they let the model get in its place.
pub(super) fn exchange_content(
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
            show("message", json!(dialogue.news(question)));
            show("tokens", json!(question.input));
            dialogue.request_digest(question)
        }
        (Some(body), None) => {
            let reply: ModelReply = session.bodies.get(body)?;
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
            let result: ToolResult = session.bodies.get(body)?;
            show("tool", json!(tool));
            show("result", json!(result.text));
            *body
        }
    };
    for given in &gated.context {
        show(&format!("context of {}", given.gate), json!(given.text));
    }
    if let Some(given) = &gated.reply {
        show(&format!("reply of {}", given.gate), json!(given.text));
    }
    let mut shown = Value::Object(shown);
    mask.value(&mut shown);
    cut(&mut shown);
    Ok(ShownContent { digest, shown })
}

impl AgentDialogue {
    /// Returns the digest of the next request.
    fn request_digest(&self, question: &ExchangeQuestion) -> Sha256Digest {
        let start = question.start.as_ref();
        if let Some(client) = start.and_then(|start| start.client) {
            return client.request;
        }
        let repairs = start.and_then(|start| start.repairs.as_deref());
        let request: ModelRequest = self.next_request(&question.refusals, repairs);
        let cut = start.map(|start| start.context.clone()).unwrap_or_default();
        let bytes = serde_json::to_vec(request.after_cut(&cut).as_ref()).unwrap_or_default();
        Sha256Digest::of_bytes(&bytes)
    }
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
