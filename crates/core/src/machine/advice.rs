//! The diagnosis of a failed attempt and the remedy for it, derived by rule, so that nothing is
//! judged twice.

use super::REASON_LIMIT;
use super::correction::FailedCheck;
use super::tries::AttemptHistory;
use wf_model::FailureClass;

/// The number of criteria named before the rest is only counted.
const MAX_NAMED_CRITERIA: usize = 5;

/// Describes what was wrong with the last attempt.
pub(super) fn what_was_wrong(tries: &AttemptHistory) -> String {
    if let Some((gate, _)) = &tries.gate {
        return truncate_sentence(format!("gate `{gate}` blocked it"));
    }
    if let Some(exit) = &tries.exit {
        return truncate_sentence(exit.clone());
    }
    let told: Vec<String> = tries.failed.iter().map(format_finding).collect();
    let text = told.join("; ");
    truncate_sentence(match tries.attempt {
        0 => format!("the cached result failed its checks: {text}"),
        _ => text,
    })
}

/// Describes the remedy, as given by the first failed criterion.
pub(super) fn what_to_do(tries: &AttemptHistory) -> String {
    if let Some((gate, todo)) = &tries.gate {
        return truncate_sentence(match todo.as_str() {
            "" => format!("change the work so that gate `{gate}` accepts it"),
            todo => todo.to_owned(),
        });
    }
    let Some((first, rest)) = tries.failed.split_first() else {
        return after_exit(tries);
    };
    let name = &first.criterion;
    let found = finding_text(first);
    let todo = match first.failure_class {
        Some(FailureClass::Logical) => format!("make `{name}` pass: {found}"),
        Some(FailureClass::Environmental) => {
            format!(
                "keep the approach: make sure that everything `{name}` needs is available \
                ({found})"
            )
        }
        Some(FailureClass::Interrupted) | None => {
            format!("find out why `{name}` could not be evaluated: {found}")
        }
    };
    truncate_sentence(match others(rest) {
        Some(others) => format!("{todo}; then {others}"),
        None => todo,
    })
}

/// Describes the remedy for work that did not exit successfully.
fn after_exit(tries: &AttemptHistory) -> String {
    let exit = tries.exit.as_deref().unwrap_or("unknown");
    truncate_sentence(match tries.failure_class {
        Some(FailureClass::Environmental) => {
            format!("keep the approach: make sure that everything it needs is available ({exit})")
        }
        Some(FailureClass::Interrupted) => "repeat the work; parts of it may be done already".to_owned(),
        Some(FailureClass::Logical) | None => {
            format!("make the work succeed ({exit}); see its log")
        }
    })
}

fn others(rest: &[FailedCheck]) -> Option<String> {
    if rest.is_empty() {
        return None;
    }
    let names = rest.iter().take(MAX_NAMED_CRITERIA);
    let names: Vec<String> = names.map(|unmet| format!("`{}`", unmet.criterion)).collect();
    Some(match rest.len().saturating_sub(MAX_NAMED_CRITERIA) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    })
}

/// Formats a criterion and its finding, as a verdict is reported.
fn format_finding(unmet: &FailedCheck) -> String {
    let FailedCheck { criterion, expected, found, .. } = unmet;
    super::flaw::format_mismatch(criterion, expected, found)
}

/// Returns the finding of a criterion, without its name.
fn finding_text(unmet: &FailedCheck) -> String {
    match (unmet.expected.is_empty(), unmet.found.is_empty()) {
        (true, true) => "it failed".to_owned(),
        (true, false) => unmet.found.clone(),
        _ => format!("expected {}, found {}", unmet.expected, unmet.found),
    }
}

/// Truncates a sentence to the stored length.
fn truncate_sentence(text: String) -> String {
    match text.char_indices().nth(REASON_LIMIT) {
        Some((at, _)) => text.get(..at).unwrap_or_default().to_owned(),
        None => text,
    }
}
