use std::{cmp::Reverse, fmt};

use serde::Serialize;
use wf_base::name::Name;
use wf_core::agent::{Message, ModelRequest};

use super::RecordedExchange;

/// The number of characters of a differing text a message shows.
const SHOWN: usize = 60;

/// The number of equal characters it shows before them.
const BEFORE: usize = 12;

/// A part of a request, as people call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPart {
    pub label: String,
    /// Its content.
    pub text: String,
}

/// The distance of a recorded request from another, and the first part where they differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestDifference {
    /// The number of equal parts at the beginning of both conversations.
    same_messages: usize,
    /// The number of equal settings.
    same_settings: usize,
    /// The difference of the lengths of both conversations.
    surplus: usize,
    /// The part of the recorded request; `None`: it ends before.
    recorded_part: Option<RequestPart>,
    /// The part of the other; `None`: it ends before.
    current_part: Option<RequestPart>,
}

impl RequestDifference {
    /// Compares a recorded request with another.
    pub fn between(recorded: &RecordedExchange, model: &Name, request: &ModelRequest) -> Self {
        let old_settings = settings(&recorded.model, &recorded.request);
        let settings = settings(model, request);
        let (old_messages, messages) = (messages(&recorded.request), messages(request));
        let same_messages = same_parts(&old_messages, &messages);
        let at = same_parts(&old_settings, &settings);
        // A setting that differs makes every request of a run miss, so it says more than a message.
        let (recorded, current) = if at < settings.len() {
            (old_settings.get(at).cloned(), settings.get(at).cloned())
        } else {
            (old_messages.get(same_messages).cloned(), messages.get(same_messages).cloned())
        };
        Self {
            same_messages,
            same_settings: old_settings.iter().zip(&settings).filter(|(old, new)| old == new).count(),
            surplus: old_messages.len().abs_diff(messages.len()),
            recorded_part: recorded,
            current_part: current,
        }
    }

    /// True if it is smaller than another.
    pub fn is_smaller_than(&self, other: &Self) -> bool {
        let likeness = |difference: &Self| {
            (difference.same_messages, difference.same_settings, Reverse(difference.surplus))
        };
        likeness(self) > likeness(other)
    }
}

impl fmt::Display for RequestDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.recorded_part, &self.current_part) {
            (Some(old), Some(new)) if old.label == new.label => {
                let from = first_difference(&old.text, &new.text);
                let (old, text) = (excerpt(&old.text, from), excerpt(&new.text, from));
                write!(f, "{} differs: recorded {old}, now {text}", new.label)
            }
            (Some(old), Some(new)) => write!(f, "it has {} where now {} is", old.label, new.label),
            (Some(old), None) => write!(f, "it goes on with {}", old.label),
            (None, Some(new)) => write!(f, "it ends before {}: {}", new.label, excerpt(&new.text, 0)),
            (None, None) => f.write_str("it is the same"),
        }
    }
}

/// Returns the parts before the conversation; always the same ones.
fn settings(model: &Name, request: &ModelRequest) -> Vec<RequestPart> {
    let part = |label: &str, text: String| RequestPart { label: label.into(), text };
    vec![
        part("the model", model.to_string()),
        part("the system prompt", request.system.clone()),
        part("the list of tools", sorted_json(&request.tools)),
        part("the schema of the answer", sorted_json(&request.answer_schema)),
        part("`max_output`", request.max_output.to_string()),
        part("the temperature", sorted_json(&request.temperature)),
    ]
}

/// Returns the parts of the conversation: a message, or one call or result of it.
fn messages(request: &ModelRequest) -> Vec<RequestPart> {
    let mut parts = Vec::new();
    let mut tools: Vec<(&str, &str)> = Vec::new();
    for (number, message) in (1_usize..).zip(&request.messages) {
        let mut push = |about: String, text: &str| {
            parts.push(RequestPart { label: format!("message {number} ({about})"), text: text.to_owned() });
        };
        match message {
            Message::User { text } => push("user".into(), text),
            Message::Omitted { turns } => push("user".into(), &Message::omission_text(*turns)),
            Message::Assistant { text, tool_calls } => {
                push("assistant".into(), text);
                tools = tool_calls.iter().map(|call| (call.id.as_str(), call.tool.as_str())).collect();
                for call in tool_calls {
                    push(format!("tool call of `{}`", call.tool), &call.arguments);
                }
            }
            Message::Tool { results } => {
                for result in results {
                    let tool = tools.iter().find(|(id, _)| *id == result.id).map_or("?", |(_, tool)| *tool);
                    let mark = if result.is_error { "failed: " } else { "" };
                    push(format!("tool result of `{tool}`"), &format!("{mark}{}", result.text));
                }
            }
        }
    }
    parts
}

fn sorted_json(value: &impl Serialize) -> String {
    let mut value = serde_json::to_value(value).unwrap_or_default();
    value.sort_all_objects();
    value.to_string()
}

/// Returns the number of equal parts at the beginning of both.
fn same_parts(old_parts: &[RequestPart], new_parts: &[RequestPart]) -> usize {
    old_parts.iter().zip(new_parts).take_while(|(old, new)| old == new).count()
}

/// Returns the number of equal characters at the beginning of both.
fn first_difference(old: &str, new: &str) -> usize {
    old.chars().zip(new.chars()).take_while(|(old, new)| old == new).count()
}

/// Returns a quoted part of a text around a character.
fn excerpt(text: &str, at: usize) -> String {
    let from = at.saturating_sub(BEFORE);
    let shown: String = text.chars().skip(from).take(SHOWN).collect();
    let before = if from > 0 { "…" } else { "" };
    let after = if text.chars().nth(from + SHOWN).is_some() { "…" } else { "" };
    format!("{:?}", format!("{before}{shown}{after}"))
}
