use serde_json::Value;

use super::text::quoted;
use super::{FileInspector, file, number, text};
use crate::gate::GateAnswer;
use wf_model::{GatePredicate, JsonExpectation};

/// Returns the answer of a rule about a value; `None`: there is no value.
///
/// A number to be clamped into a range is judged by its new value; the caller rewrites it, by
/// [`clamped`](super::clamped).
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
            let ranges = number::NumberRanges {
                block_outside: *block_outside,
                auto_approve: *auto_approve,
                require_approval: *require_approval,
                clamp: *clamp,
            };
            ranges.evaluate(value)
        }
        GatePredicate::StringMatch { allowed, approval } => text::one_of(value, allowed, approval),
        GatePredicate::Regex(pattern) => text::matches(value, pattern),
        GatePredicate::FileValid { permitted, max_size_bytes } => {
            file::check_file(value, permitted, *max_size_bytes, files)
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
