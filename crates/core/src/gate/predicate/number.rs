use serde_json::{Number, Value};

use super::text::quoted;
use crate::gate::GateAnswer;
use wf_model::{GatePredicate, PredicateRange};

/// The ranges of a number.
pub(super) struct NumberRanges {
    pub(super) block_outside: Option<PredicateRange>,
    pub(super) auto_approve: Option<PredicateRange>,
    pub(super) require_approval: Option<PredicateRange>,
    pub(super) clamp: Option<PredicateRange>,
}

impl NumberRanges {
    /// Applies the rules in the order of Silas 5.5.2: no number, outside of the hard range, in the range that
    /// continues, in the range needing approval, anything else.
    pub(super) fn evaluate(&self, value: &Value) -> GateAnswer {
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
