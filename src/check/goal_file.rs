//! What is wrong with a goal beside its plan, which the rules of plans look at.

use super::Notes;
use crate::diag::{Code, Diagnostic};
use crate::expr::Template;
use crate::spec::ast::{Goal, Plan};
use crate::spec::{Loaded, timing};

/// A goal asks nobody, keeps something true, and looks at it without its steps.
pub(super) fn check(loaded: &Loaded, file: usize, goal: &Goal, notes: &mut Notes) {
    let plan = loaded.plans.get(file).and_then(Option::as_ref);
    let Some(plan) = plan else { return };
    asks_nobody(goal, notes);
    looks_only(plan, notes);
    secrets_exist(goal, loaded.is_whole(file), notes);
    if let Some(source) = loaded.sources.get(file) {
        let (_, wrong) = timing(goal, source);
        for mistake in wrong {
            notes.note(mistake);
        }
    }
    if loaded.is_whole(file) {
        says_something(goal, notes);
    }
}

/// A cycle begins by itself: nobody is there to give a parameter.
fn asks_nobody(goal: &Goal, notes: &mut Notes) {
    let asked = goal.params.iter().filter(|(_, own)| own.default.is_none());
    for (name, _) in asked {
        let message = format!(
            "the parameter `{}` needs a default: a goal begins by itself, and nobody gives it one",
            name.value
        );
        let mistake = Diagnostic::new(Code::KeyMissing, name.span, message);
        notes.note(mistake.help("add `default`, or remove it"));
    }
}

/// A look runs the checks alone.
fn looks_only(plan: &Plan, notes: &mut Notes) {
    for check in plan.checks() {
        let argv = check.exec.iter().flat_map(|argv| &argv.value);
        let read = argv.chain(check.env.iter().map(|(_, value)| value));
        for read in read.flat_map(Template::refs) {
            if let Some(step) = read.name.step() {
                let message = format!(
                    "check `{}` reads from step `{step}`, and a look runs no steps",
                    check.name.value
                );
                let mistake = Diagnostic::new(Code::NotUpstream, read.span, message);
                notes.note(mistake.help("look at what the step leaves behind"));
            }
        }
    }
}

/// What news are sent with is declared.
fn secrets_exist(goal: &Goal, is_whole: bool, notes: &mut Notes) {
    let declared = || goal.secrets.iter().map(|(name, _)| name.value.as_str());
    for name in goal.told_with() {
        let wanted = name.value.as_str();
        if is_whole && declared().all(|own| own != wanted) {
            let message = format!("there is no secret `{wanted}`");
            let mistake = Diagnostic::new(Code::UnknownSecret, name.span, message);
            notes.misspelt(mistake, wanted, declared(), "declare it under `secrets`");
        }
    }
}

/// Lists that are empty as they are written, and not for a mistake in what is in them.
fn says_something(goal: &Goal, notes: &mut Notes) {
    let empty = goal
        .verify
        .as_ref()
        .filter(|checks| checks.value.is_empty());
    if let Some(checks) = empty {
        let message = "a goal needs at least one check: what it keeps true";
        let mistake = Diagnostic::new(Code::ValueWrong, checks.span, message);
        notes.note(mistake.help("write one below `verify`"));
    }
    let empty = goal
        .schedule
        .as_ref()
        .filter(|rules| rules.value.0.is_empty());
    if let Some(rules) = empty {
        let message = "an empty list names no time";
        let mistake = Diagnostic::new(Code::ValueWrong, rules.span, message);
        notes.note(mistake.help("write `schedule: \"0 6 * * *\"`"));
    }
}
