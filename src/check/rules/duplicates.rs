use std::collections::BTreeMap;

use super::{Notes, Scene};
use crate::diag::{Code, Diagnostic};
use crate::name::Name;
use crate::source::Spanned;

/// Steps share one set of names, main and `finally` steps together; so do the
/// checks of a step, those of all phases together, and the plan's own.
pub(super) fn check(scene: &Scene<'_>, notes: &mut Notes) {
    if !scene.ids_differ() {
        distinct("step", scene.steps.iter().map(|step| &step.id), notes);
    }
    for step in &scene.steps {
        distinct("check", step.checks().map(|check| &check.name), notes);
    }
    let own = scene.plan.checks();
    distinct("check", own.map(|check| &check.name), notes);
    for step in &scene.steps {
        let ids = step.alternatives.iter().map(|other| &other.id);
        distinct("alternative", ids, notes);
    }
}

fn distinct<'a>(noun: &str, names: impl Iterator<Item = &'a Spanned<Name>>, notes: &mut Notes) {
    let mut seen = BTreeMap::new();
    for name in names {
        let Some(first) = seen.insert(name.value.as_str(), name.span) else {
            continue;
        };
        let message = format!("two {noun}s are called `{}`", name.value);
        let mistake = Diagnostic::new(Code::DuplicateId, name.span, message);
        notes.note(
            mistake
                .also(first, "the other is here")
                .help("give one of them another name"),
        );
        seen.insert(name.value.as_str(), first);
    }
}
