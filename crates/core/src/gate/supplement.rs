//! The texts a gate gives to a model call: context for the model, or a reply in its place.

use serde_json::Value;

use super::{GateOutcome, GateResult, GateText};
use wf_model::GateTrigger;

/// The names of these texts in the answer of a gate.
pub const CALL_TEXTS: [&str; 2] = ["context", "reply"];

/// The maximum number of characters of a gate's context; what is longer is cut.
pub const CALL_CONTEXT_CHARS: usize = 4000;

/// The maximum number of characters of a gate's reply; a longer one is none.
const REPLY_CHARS: usize = 100_000;

impl GateOutcome {
    /// Takes a value of a gate's answer, if it is a text for the model call the gate is asked about. An empty one is no
    /// text.
    pub(super) fn take_call_text(&mut self, name: &str, value: &Value, result: &mut GateResult) -> bool {
        if result.trigger != GateTrigger::OnModelCall || !CALL_TEXTS.contains(&name) {
            return false;
        }
        let text = match value {
            Value::Null => return true,
            Value::String(text) => text.trim().to_owned(),
            other => other.to_string(),
        };
        if text.is_empty() {
            return true;
        }
        let gate = result.gate.clone();
        if name == "context" {
            self.context.push(GateText { gate, text: cut(text) });
        } else if self.reply.is_none() && text.chars().nth(REPLY_CHARS).is_none() {
            self.reply = Some(GateText { gate, text });
        } else {
            return false;
        }
        result.changed.push(name.to_owned());
        true
    }
}

impl GateResult {
    /// True if all it changed is texts it gave to a model call.
    pub fn gives_call_texts(&self) -> bool {
        let is_call_text = |name: &String| CALL_TEXTS.contains(&name.as_str());
        self.trigger == GateTrigger::OnModelCall
            && !self.changed.is_empty()
            && self.changed.iter().all(is_call_text)
    }
}

fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(CALL_CONTEXT_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    text
}
