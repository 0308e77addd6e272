//! What an attempt that failed is said to have done wrong, and what to do about it: by rule, so
//! that nobody judges twice.

use super::WHY_LIMIT;
use super::correction::Unmet;
use super::tries::Tries;
use crate::model::Class;

/// How many criteria are named before the rest is only counted.
const NAMED: usize = 5;

/// What was wrong with the last attempt.
pub(super) fn what_was_wrong(tries: &Tries) -> String {
    if let Some((gate, _)) = &tries.gate {
        return cut(format!("gate `{gate}` did not let it pass"));
    }
    if let Some(exit) = &tries.exit {
        return cut(exit.clone());
    }
    let told: Vec<String> = tries.failed.iter().map(told).collect();
    let text = told.join("; ");
    cut(match tries.attempt {
        0 => format!("the result from the cache did not pass: {text}"),
        _ => text,
    })
}

/// What would make it right: the first criterion that failed says it.
pub(super) fn what_to_do(tries: &Tries) -> String {
    if let Some((gate, todo)) = &tries.gate {
        return cut(match todo.as_str() {
            "" => format!("do it in a way that gate `{gate}` lets pass"),
            todo => todo.to_owned(),
        });
    }
    let Some((first, rest)) = tries.failed.split_first() else {
        return after_exit(tries);
    };
    let name = &first.criterion;
    let found = found(first);
    let todo = match first.class {
        Some(Class::Logical) => format!("make `{name}` hold: {found}"),
        Some(Class::Environmental) => {
            format!("the approach need not change: see that what `{name}` needs is there ({found})")
        }
        Some(Class::Interrupted) | None => {
            format!("find out why nobody could say whether `{name}` holds: {found}")
        }
    };
    cut(match others(rest) {
        Some(others) => format!("{todo}; then {others}"),
        None => todo,
    })
}

/// What to do about work that did not end well.
fn after_exit(tries: &Tries) -> String {
    let exit = tries.exit.as_deref().unwrap_or("not known");
    cut(match tries.class {
        Some(Class::Environmental) => {
            format!("the approach need not change: see that what it needs is there ({exit})")
        }
        Some(Class::Interrupted) => {
            "do the work again; parts of it may have been done already".to_owned()
        }
        Some(Class::Logical) | None => {
            format!("make the work end well ({exit}); its log says more")
        }
    })
}

fn others(rest: &[Unmet]) -> Option<String> {
    if rest.is_empty() {
        return None;
    }
    let names = rest.iter().take(NAMED);
    let names: Vec<String> = names
        .map(|unmet| format!("`{}`", unmet.criterion))
        .collect();
    Some(match rest.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    })
}

/// One criterion and what it found, as a verdict is told.
fn told(unmet: &Unmet) -> String {
    let Unmet {
        criterion,
        expected,
        found,
        ..
    } = unmet;
    super::flaw::told(criterion, expected, found)
}

/// What a criterion found, without its name.
fn found(unmet: &Unmet) -> String {
    match (unmet.expected.is_empty(), unmet.found.is_empty()) {
        (true, true) => "it did not pass".to_owned(),
        (true, false) => unmet.found.clone(),
        _ => format!("expected {}, found {}", unmet.expected, unmet.found),
    }
}

/// Cuts a sentence to the length that is kept.
fn cut(text: String) -> String {
    match text.char_indices().nth(WHY_LIMIT) {
        Some((at, _)) => text.get(..at).unwrap_or_default().to_owned(),
        None => text,
    }
}
