//! Predicates: rules about a value needing nothing but the value, and for files their metadata (Silas 5.5.2).
//! The same value always has the same answer.
//!
//! **Invariant:** a value fitting no rule is blocked.

use std::{
    borrow::Cow,
    path::{Component, Path},
};

use regex::Regex;
use serde_json::{Number, Value};

use crate::gate::GateAnswer;
use wf_model::{GatePredicate, JsonExpectation, PredicateRange};

#[cfg(test)]
mod tests;

/// Returns the answer of a rule about a value; `None`: there is no value.
///
/// A number to be clamped into a range is judged by its new value; the caller rewrites it, by
/// [`clamped`].
pub fn judge_predicate(
    predicate: &GatePredicate,
    value: Option<&Value>,
    files: &dyn FileInspector,
) -> GateAnswer {
    if matches!(predicate, GatePredicate::ApprovalAlways) {
        return GateAnswer::ask("Approval is always required");
    }
    let Some(value) = value else {
        return GateAnswer::block("No value to check");
    };
    match predicate {
        GatePredicate::NumericRange { block_outside, auto_approve, require_approval, clamp } => {
            let ranges = NumberRanges {
                block_outside: *block_outside,
                auto_approve: *auto_approve,
                require_approval: *require_approval,
                clamp: *clamp,
            };
            ranges.evaluate(value)
        }
        GatePredicate::StringMatch { allowed, approval } => one_of(value, allowed, approval),
        GatePredicate::Regex(pattern) => matches(value, pattern),
        GatePredicate::FileValid { permitted, max_size_bytes } => {
            check_file(value, permitted, *max_size_bytes, files)
        }
        GatePredicate::ApprovalAlways => GateAnswer::ask("Approval is always required"),
        GatePredicate::JsonPath(comparisons) => compare(value, comparisons),
    }
}

/// Applies the comparisons of checks: the first that fails blocks.
fn compare(value: &Value, comparisons: &[JsonExpectation]) -> GateAnswer {
    let miss = comparisons.iter().find_map(|each| each.mismatch(value, quoted));
    match miss {
        None => GateAnswer::pass(),
        Some(miss) => GateAnswer::block(format!("Expected {}, found {}", miss.expected, miss.found)),
    }
}

/// The maximum length of a text matched against a pattern, in bytes.
const LONGEST: usize = 1024 * 1024;

/// The maximum length of a quoted value, in characters.
const SHORT: usize = 80;

/// Continues with allowed values, asks about those needing approval, and blocks all others.
fn one_of(value: &Value, allowed: &[String], approval: &[String]) -> GateAnswer {
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
fn matches(value: &Value, pattern: &Regex) -> GateAnswer {
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
fn plain(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(text.into()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string().into()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Quotes a text for a sentence: in one line, and short.
fn quoted(text: &str) -> String {
    let mut words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let flat = words.by_ref().take(SHORT).collect::<Vec<_>>().join(" ");
    let mut short: String = flat.chars().take(SHORT).collect();
    if short.len() < flat.len() || words.next().is_some() {
        short.push('…');
    }
    format!("`{short}`")
}

/// The ranges of a number.
struct NumberRanges {
    block_outside: Option<PredicateRange>,
    auto_approve: Option<PredicateRange>,
    require_approval: Option<PredicateRange>,
    clamp: Option<PredicateRange>,
}

impl NumberRanges {
    /// Applies the rules in the order of Silas 5.5.2: no number, outside of the hard range, in the range that
    /// continues, in the range needing approval, anything else.
    fn evaluate(&self, value: &Value) -> GateAnswer {
        let Some(original) = number(value) else {
            return GateAnswer::block(format!("{} is not a number", quoted(&display_value(value))));
        };
        let number = self.clamp.map_or(original, |range| clamp_to(original, range));
        let mut answer = self.ruling(number);
        if differ(number, original) {
            answer.flags.push(format!("clamped from {original} to {number}"));
        }
        answer
    }

    fn ruling(&self, number: f64) -> GateAnswer {
        if let Some(range) = self.block_outside
            && !range_contains(range, number)
        {
            return GateAnswer::block(format!("{number} is not {}", describe_range(range)));
        }
        if self.auto_approve.is_some_and(|range| range_contains(range, number)) {
            return GateAnswer::pass();
        }
        if let Some(range) = self.require_approval
            && range_contains(range, number)
        {
            return GateAnswer::ask(format!(
                "{number} is {}, which requires approval",
                describe_range(range)
            ));
        }
        GateAnswer::block(format!("{number} is not in any permitted range"))
    }
}

/// Returns the value a number is replaced with before it is judged, if a rule clamps it.
pub fn clamped(predicate: &GatePredicate, value: &Value) -> Option<Value> {
    let GatePredicate::NumericRange { clamp: Some(range), .. } = predicate else {
        return None;
    };
    let original = number(value)?;
    let moved = clamp_to(original, *range);
    if !differ(original, moved) {
        return None;
    }
    let number = as_integer(moved).map_or_else(|| Number::from_f64(moved), |whole| Some(whole.into()))?;
    Some(match value {
        Value::String(_) => Value::String(number.to_string()),
        _ => Value::Number(number),
    })
}

/// Returns a number, or the number a whole text is.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

fn range_contains(range: PredicateRange, number: f64) -> bool {
    range.min.is_none_or(|min| number >= min) && range.max.is_none_or(|max| number <= max)
}

fn clamp_to(number: f64, range: PredicateRange) -> f64 {
    let above = range.min.map_or(number, |min| number.max(min));
    range.max.map_or(above, |max| above.min(max))
}

fn differ(one: f64, other: f64) -> bool {
    (one - other).abs() > 0.0
}

#[expect(clippy::cast_possible_truncation, reason = "it is whole, and within bounds")]
fn as_integer(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 1e15).then_some(number as i64)
}

fn describe_range(range: PredicateRange) -> String {
    match (range.min, range.max) {
        (Some(min), Some(max)) => format!("from {min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => "any number".into(),
    }
}

fn display_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The access of rules to files of the workspace.
pub trait FileInspector {
    /// Looks up a path, relative to the workspace.
    fn status(&self, path: &str) -> FileStatus;
}

/// The meaning of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileStatus {
    /// A regular file.
    File {
        /// The size in bytes.
        size: u64,
        /// The path relative to the workspace, with all links followed.
        place: String,
    },
    /// Nothing, or something other than a file.
    Absent,
    /// A path out of the workspace.
    Outside,
    /// A failed lookup, with the reason.
    Unknown(String),
}

/// No files at all, for rules that use none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFileAccess;

impl FileInspector for NoFileAccess {
    fn status(&self, _: &str) -> FileStatus {
        FileStatus::Unknown("files are not available here".into())
    }
}

/// The message about a path that may not be used (Silas 5.5.2).
const OUTSIDE: &str = "Path outside permitted directories";

/// Passes a file in one of some folders, and not too large. Links must not lead out of them either.
fn check_file(
    value: &Value,
    permitted: &[String],
    most: Option<u64>,
    files: &dyn FileInspector,
) -> GateAnswer {
    let Value::String(path) = value else {
        return GateAnswer::block("The value is not a path");
    };
    if !is_permitted(path, permitted) {
        return GateAnswer::block(OUTSIDE);
    }
    match files.status(path) {
        FileStatus::Outside => GateAnswer::block(OUTSIDE),
        FileStatus::File { place, .. } if !is_permitted(&place, permitted) => GateAnswer::block(OUTSIDE),
        FileStatus::Absent => GateAnswer::block("File not found"),
        FileStatus::Unknown(reason) => GateAnswer::block(format!("The file cannot be read: {reason}")),
        FileStatus::File { size, .. } => match most {
            Some(most) if size > most => {
                GateAnswer::block(format!("The file has {size} bytes; at most {most} are allowed"))
            }
            _ => GateAnswer::pass(),
        },
    }
}

/// True if a path is relative, never goes up, and begins with one of the folders; without folders,
/// with any.
fn is_permitted(path: &str, permitted: &[String]) -> bool {
    let path = Path::new(path);
    let mut parts = path.components();
    let stays = parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let plain = |path: &Path| -> std::path::PathBuf {
        let parts = path.components();
        parts.filter(|part| *part != Component::CurDir).collect()
    };
    let below = |folder: &String| plain(path).starts_with(plain(Path::new(folder)));
    stays
        && !path.as_os_str().is_empty()
        && !path.to_string_lossy().contains('\0')
        && (permitted.is_empty() || permitted.iter().any(below))
}
