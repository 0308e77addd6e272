use std::borrow::Cow;

use regex::Regex;
use serde_json::Value;

use crate::gate::GateAnswer;

/// The maximum length of a text matched against a pattern, in bytes.
const LONGEST: usize = 1024 * 1024;

/// The maximum length of a quoted value, in characters.
const SHORT: usize = 80;

/// Continues with allowed values, asks about those needing approval, and blocks all others.
pub(super) fn one_of(value: &Value, allowed: &[String], approval: &[String]) -> GateAnswer {
    let Some(text) = plain(value) else {
        return GateAnswer::block(NO_TEXT);
    };
    let is_in = |list: &[String]| list.iter().any(|one| *one == text);
    if is_in(allowed) {
        GateAnswer::pass()
    } else if is_in(approval) {
        GateAnswer::ask(format!("{} requires approval", quoted(&text)))
    } else {
        GateAnswer::block(format!("{} is not an allowed value", quoted(&text)))
    }
}

/// Continues with a value matching the pattern.
pub(super) fn matches(value: &Value, pattern: &Regex) -> GateAnswer {
    match plain(value) {
        None => GateAnswer::block(NO_TEXT),
        Some(text) if text.len() > LONGEST => {
            GateAnswer::block(format!("The text is longer than {} KiB and is not checked", LONGEST / 1024))
        }
        Some(text) if pattern.is_match(&text) => GateAnswer::pass(),
        Some(text) => GateAnswer::block(format!("{} does not match `{pattern}`", quoted(&text))),
    }
}

const NO_TEXT: &str = "The value is not a string, number or boolean";

/// Returns a value as one text; a number and a boolean as JSON writes them.
pub(super) fn plain(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(text.into()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string().into()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Quotes a text for a sentence: in one line, and short.
pub(super) fn quoted(text: &str) -> String {
    let mut words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let flat = words.by_ref().take(SHORT).collect::<Vec<_>>().join(" ");
    let mut short: String = flat.chars().take(SHORT).collect();
    if short.len() < flat.len() || words.next().is_some() {
        short.push('…');
    }
    format!("`{short}`")
}
