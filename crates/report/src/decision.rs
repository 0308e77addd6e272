//! The content of a decision about to be signed, read from the very bytes for the signature.

use serde::Deserialize;
use serde_json::Value;

use super::{lines::quote_untrusted, unified::unified_diff};
use wf_base::{
    digest::Sha256Digest,
    untrusted::{BOLD, DIM, paint, styled_line, untrusted},
};
use wf_core::machine::{AnswerOptions, ApprovalRequest, TypedAnswer};
use wf_sign::approval::{ApprovalDecision, ApprovalStatement};

/// The most entries that are named of those left out.
const MAX_NAMED_ENTRIES: usize = 12;

/// The keys of an entry of a list that may be its title, in order.
const TITLES: [&str; 6] = ["title", "name", "subject", "file", "path", "id"];

/// The part of a proposal an answer is about.
#[derive(Deserialize)]
struct Proposal {
    ask: ApprovalRequest,
}

/// Returns the decisions in an approval of a request beyond yes, in words; empty if there is none. `payload` are the bytes to be
/// signed, `proposal` those with their digest. `None`: the statement is about another request, or cannot be read.
pub fn signed_decision_text(payload: &str, proposal: &str) -> Option<String> {
    let statement: ApprovalStatement = serde_json::from_str(payload).ok()?;
    let digest = statement.request_ref.as_ref().map(|ask| ask.proposal);
    let is_about = digest == Some(Sha256Digest::of_bytes(proposal.as_bytes()));
    if statement.text() != payload || !is_about {
        return None;
    }
    let Proposal { ask } = serde_json::from_str(proposal).ok()?;
    if statement.verdict != ApprovalDecision::Approved {
        return Some(String::new());
    }
    Some(answer_text(ask.answer.as_ref(), statement.answer.as_ref()))
}

fn answer_text(options: Option<&AnswerOptions>, answer: Option<&TypedAnswer>) -> String {
    let name = paint(BOLD, "your answer:");
    match (options, answer) {
        (Some(AnswerOptions::Select(entries)), Some(TypedAnswer::Selected(positions))) => {
            let is_chosen = |position: &u32| positions.contains(position);
            let mut text = format!("{name} {} of {}\n", positions.len(), entries.len());
            let numbered = || (1..).zip(entries);
            numbered()
                .filter(|(at, _)| is_chosen(at))
                .for_each(|(at, entry)| text.push_str(&entry_line(at, entry)));
            let left: Vec<String> = numbered()
                .filter(|(at, _)| !is_chosen(at))
                .map(|(_, entry)| untrusted(&entry_title(entry)).to_string())
                .collect();
            let more = left.len().saturating_sub(MAX_NAMED_ENTRIES);
            let mut named = left.into_iter().take(MAX_NAMED_ENTRIES).collect::<Vec<_>>().join(", ");
            if more > 0 {
                named += &format!(" and {more} more");
            }
            text + &format!("  {} {named}\n", paint(DIM, "without:"))
        }
        (Some(AnswerOptions::Select(entries)), None) => {
            let lines: String = (1..).zip(entries).map(|(at, entry)| entry_line(at, entry)).collect();
            format!("{name} all {}\n{lines}", entries.len())
        }
        (Some(AnswerOptions::Edit { text: draft, .. }), Some(TypedAnswer::Text(text))) => {
            let diff = unified_diff("text", &with_end(draft), &with_end(text));
            let changes: Vec<&str> = diff.lines().skip(2).collect();
            let changes = quote_untrusted(&changes.join("\n"), "    ");
            format!("{name} {}\n  {} {changes}\n", quote_untrusted(text, "    "), paint(DIM, "changed:"))
        }
        (Some(_), Some(TypedAnswer::Choice(word))) => format!("{name} {}\n", styled_line(word)),
        (Some(AnswerOptions::Edit { .. }), None) => format!("{name} the text as it is\n"),
        _ => String::new(),
    }
}

/// Returns a value as people read it: a text as it is, and of an object each part in a line of its own, a script or another
/// text of several lines below its name, indented.
pub fn value_text(value: &Value) -> String {
    // Not `lines`, which leaves out a carriage return at the end of a line.
    let lines_of = |text: &str| {
        let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
        lines.map(|line| format!("\n  {line}")).collect::<String>()
    };
    match value {
        Value::String(text) => text.clone(),
        Value::Object(parts) if !parts.is_empty() => {
            let part = |(name, value): (&String, &Value)| match value {
                Value::String(text) if text.contains('\n') => format!("{name}:{}", lines_of(text)),
                Value::Object(inner) if !inner.is_empty() => {
                    format!("{name}:{}", lines_of(&value_text(value)))
                }
                Value::String(text) => format!("{name}: {text}"),
                other => format!("{name}: {other}"),
            };
            parts.iter().map(part).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

/// Returns a text with a last line end, for a difference without a remark about it.
fn with_end(text: &str) -> String {
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

fn entry_line(position: u32, entry: &Value) -> String {
    format!("    {position}. {}\n", quote_untrusted(&entry_title(entry), "       "))
}

/// Returns an entry of a list as people read it: its title, and the rest of it.
fn entry_title(entry: &Value) -> String {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let Value::Object(parts) = entry else {
        return plain(entry);
    };
    let title = TITLES.into_iter().find(|name| parts.get(*name).is_some_and(Value::is_string));
    let rest = parts.iter().filter(|(name, _)| Some(name.as_str()) != title);
    let rest: Vec<String> = rest.map(|(name, value)| format!("{name}: {}", plain(value))).collect();
    let title = title.and_then(|name| parts.get(name)).map(plain);
    let rest = Some(rest.join(", ")).filter(|rest| !rest.is_empty());
    title.into_iter().chain(rest).collect::<Vec<_>>().join(" — ")
}

#[cfg(test)]
mod tests;
