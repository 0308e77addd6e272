use serde_json::{Number, Value};

use super::text::quoted;
use crate::gate::Answer;
use crate::model::{Predicate, Range};

/// The ranges of a number.
pub(super) struct Ranges {
    pub(super) block_outside: Option<Range>,
    pub(super) auto_approve: Option<Range>,
    pub(super) require_approval: Option<Range>,
    pub(super) clamp: Option<Range>,
}

impl Ranges {
    /// The rules in the order of Silas 5.5.2: no number, outside of the hard range, in the one in
    /// which it goes on, in the one in which somebody must agree, anything else.
    pub(super) fn judge(&self, value: &Value) -> Answer {
        let Some(given) = number(value) else {
            return Answer::block(format!("{} is not a number", quoted(&shown(value))));
        };
        let number = self.clamp.map_or(given, |range| moved(given, range));
        let mut answer = self.ruling(number);
        if differ(number, given) {
            answer
                .flags
                .push(format!("clamped from {given} to {number}"));
        }
        answer
    }

    fn ruling(&self, number: f64) -> Answer {
        if let Some(range) = self.block_outside
            && !holds(range, number)
        {
            return Answer::block(format!("{number} is not {}", said(range)));
        }
        if self.auto_approve.is_some_and(|range| holds(range, number)) {
            return Answer::pass();
        }
        if let Some(range) = self.require_approval
            && holds(range, number)
        {
            return Answer::ask(format!(
                "{number} is {}, which somebody must agree to",
                said(range)
            ));
        }
        Answer::block(format!("{number} is in no range in which it may go on"))
    }
}

/// The value that a number becomes before it is judged, if a rule moves it.
pub fn clamped(rule: &Predicate, value: &Value) -> Option<Value> {
    let Predicate::NumericRange {
        clamp: Some(range), ..
    } = rule
    else {
        return None;
    };
    let given = number(value)?;
    let moved = moved(given, *range);
    if !differ(given, moved) {
        return None;
    }
    let number =
        whole(moved).map_or_else(|| Number::from_f64(moved), |whole| Some(whole.into()))?;
    Some(match value {
        Value::String(_) => Value::String(number.to_string()),
        _ => Value::Number(number),
    })
}

/// A number, or a text that is one and nothing else.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

fn holds(range: Range, number: f64) -> bool {
    range.min.is_none_or(|min| number >= min) && range.max.is_none_or(|max| number <= max)
}

fn moved(number: f64, range: Range) -> f64 {
    let above = range.min.map_or(number, |min| number.max(min));
    range.max.map_or(above, |max| above.min(max))
}

fn differ(one: f64, other: f64) -> bool {
    (one - other).abs() > 0.0
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "it is whole, and within bounds"
)]
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 1e15).then_some(number as i64)
}

fn said(range: Range) -> String {
    match (range.min, range.max) {
        (Some(min), Some(max)) => format!("from {min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => "any number".into(),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
