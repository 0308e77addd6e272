use serde_json::Value;

use super::text::quoted;
use super::{FileFacts, file, number, text};
use crate::gate::Answer;
use crate::model::{JsonExpect, Predicate};

/// What a rule says of a value; `None`: there is none to look at.
///
/// A number that is to be moved into a range is judged as what it becomes; who asks rewrites it, by
/// [`clamped`](super::clamped).
pub fn predicate(rule: &Predicate, value: Option<&Value>, files: &dyn FileFacts) -> Answer {
    if matches!(rule, Predicate::ApprovalAlways) {
        return Answer::ask("Somebody must agree every time");
    }
    let Some(value) = value else {
        return Answer::block("There is no value to look at");
    };
    match rule {
        Predicate::NumericRange {
            block_outside,
            auto_approve,
            require_approval,
            clamp,
        } => {
            let ranges = number::Ranges {
                block_outside: *block_outside,
                auto_approve: *auto_approve,
                require_approval: *require_approval,
                clamp: *clamp,
            };
            ranges.judge(value)
        }
        Predicate::StringMatch { allowed, approval } => text::one_of(value, allowed, approval),
        Predicate::Regex(pattern) => text::matches(value, pattern),
        Predicate::FileValid {
            permitted,
            max_size_bytes,
        } => file::valid(value, permitted, *max_size_bytes, files),
        Predicate::ApprovalAlways => Answer::ask("Somebody must agree every time"),
        Predicate::JsonPath(comparisons) => compare(value, comparisons),
    }
}

/// The comparisons of checks: the first that does not hold blocks.
fn compare(value: &Value, comparisons: &[JsonExpect]) -> Answer {
    let miss = comparisons.iter().find_map(|each| each.miss(value, quoted));
    match miss {
        None => Answer::pass(),
        Some(miss) => Answer::block(format!("Expected {}, found {}", miss.expected, miss.found)),
    }
}
