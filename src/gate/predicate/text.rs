use std::borrow::Cow;

use regex::Regex;
use serde_json::Value;

use crate::gate::Answer;

/// The longest text that a pattern is tried on, in bytes.
const LONGEST: usize = 1024 * 1024;

/// How much of a value is quoted, in characters.
const SHORT: usize = 80;

/// What is allowed goes on, what must be agreed to is asked for, all else is blocked.
pub(super) fn one_of(value: &Value, allowed: &[String], approval: &[String]) -> Answer {
    let Some(text) = plain(value) else {
        return Answer::block(NO_TEXT);
    };
    let is_in = |list: &[String]| list.iter().any(|one| *one == text);
    if is_in(allowed) {
        Answer::pass()
    } else if is_in(approval) {
        Answer::ask(format!("{} must be agreed to", quoted(&text)))
    } else {
        Answer::block(format!("{} is not an allowed value", quoted(&text)))
    }
}

/// What the pattern matches goes on.
pub(super) fn matches(value: &Value, pattern: &Regex) -> Answer {
    match plain(value) {
        None => Answer::block(NO_TEXT),
        Some(text) if text.len() > LONGEST => Answer::block(format!(
            "The text is longer than {} KiB, and is not looked at",
            LONGEST / 1024
        )),
        Some(text) if pattern.is_match(&text) => Answer::pass(),
        Some(text) => Answer::block(format!("{} does not match `{pattern}`", quoted(&text))),
    }
}

const NO_TEXT: &str = "The value is no text, number or truth value";

/// A value that is one text; a number and a truth value as JSON writes them.
pub(super) fn plain(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(text.into()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string().into()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// What a text is called in a sentence: quoted, in one line, and short.
pub(super) fn quoted(text: &str) -> String {
    let mut words = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty());
    let flat = words.by_ref().take(SHORT).collect::<Vec<_>>().join(" ");
    let mut short: String = flat.chars().take(SHORT).collect();
    if short.len() < flat.len() || words.next().is_some() {
        short.push('…');
    }
    format!("`{short}`")
}
