//! The feedback to an attempt about the one before it: its diagnosis and the remedy, derived by rule, so that
//! nothing is judged twice.

use crate::machine::{
    state::{self, Run, TaskIx, parts::history::AttemptHistory},
    words::{AttemptFeedback, FailedCheck, reason::truncate_reason},
};
use wf_model::FailureClass;

/// Returns the feedback to the next or current attempt of a task; `None` if it is the first.
pub(in crate::machine) fn correction(run: &Run, task: TaskIx) -> Option<Box<AttemptFeedback>> {
    let record = run.state().task_record(task)?;
    let tries = record.history()?;
    Some(Box::new(AttemptFeedback {
        task_id: state::task_id(run.plan(), task),
        attempt: tries.attempt,
        looped: tries.looped,
        failure_class: tries.failure_class,
        what_was_wrong: what_was_wrong(tries),
        what_to_do: what_to_do(tries),
        failed: tries.failed.clone(),
        gaps: tries.gaps.clone(),
        guidance: record.guidance().and_then(|guidance| guidance.text.clone()),
        person_guidance: record.person_guidance().cloned(),
    }))
}

/// The number of criteria named before the rest is only counted.
const MAX_NAMED_CRITERIA: usize = 5;

/// Describes what was wrong with the last attempt.
pub(in crate::machine) fn what_was_wrong(history: &AttemptHistory) -> String {
    if let Some((gate, _)) = &history.gate {
        return truncate_reason(format!("gate `{gate}` blocked it"));
    }
    if let Some(exit) = &history.exit {
        return truncate_reason(exit.clone());
    }
    let findings: Vec<String> = history.failed.iter().map(FailedCheck::describe).collect();
    let text = findings.join("; ");
    truncate_reason(match history.attempt {
        0 => format!("the cached result failed its checks: {text}"),
        _ => text,
    })
}

/// Describes the remedy, as given by the first failed criterion.
pub(in crate::machine) fn what_to_do(history: &AttemptHistory) -> String {
    if let Some((gate, todo)) = &history.gate {
        return truncate_reason(match todo.as_str() {
            "" => format!("change the work so that gate `{gate}` accepts it"),
            todo => todo.to_owned(),
        });
    }
    let Some((first, rest)) = history.failed.split_first() else {
        return after_exit(history);
    };
    let name = &first.criterion;
    let found = match first.mismatch() {
        found if found.is_empty() => "it failed".to_owned(),
        found => found,
    };
    let todo = match first.failure_class {
        Some(FailureClass::Logical) => format!("make `{name}` pass: {found}"),
        Some(FailureClass::Environmental) => {
            format!(
                "keep the approach: make sure that everything `{name}` needs is available \
                ({found})"
            )
        }
        Some(FailureClass::Engine) => {
            format!("keep the work: `{name}` could not be evaluated, which shows nothing of it ({found})")
        }
        Some(FailureClass::Interrupted) | None => {
            format!("find out why `{name}` could not be evaluated: {found}")
        }
    };
    truncate_reason(match others(rest) {
        Some(others) => format!("{todo}; then {others}"),
        None => todo,
    })
}

/// Describes the remedy for work that did not exit successfully.
fn after_exit(history: &AttemptHistory) -> String {
    let exit = history.exit.as_deref().unwrap_or("unknown");
    truncate_reason(match history.failure_class {
        Some(FailureClass::Environmental) => {
            format!("keep the approach: make sure that everything it needs is available ({exit})")
        }
        Some(FailureClass::Engine) => {
            format!("repeat the work: it was not found wrong, something it is served by failed ({exit})")
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
