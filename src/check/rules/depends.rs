use std::collections::BTreeSet;

use super::{Notes, Scene};
use crate::diag::{Code, Diagnostic};
use crate::name::Name;
use crate::source::Spanned;

/// A main step depends on main steps that exist, on each once; a `finally` step on none.
pub(super) fn check(scene: &Scene<'_>, notes: &mut Notes) {
    for (at, step) in scene.steps.iter().enumerate() {
        if scene.is_finally(at) {
            if let Some(first) = step.depends_on.first() {
                notes.note(in_finally(first));
            }
            continue;
        }
        // The graph has every main step that exists, once.
        if scene.graph.needs(at).len() == step.depends_on.len() {
            continue;
        }
        let mut seen = BTreeSet::new();
        for needed in &step.depends_on {
            if seen.insert(needed.value.as_str()) {
                exists(scene, needed, notes);
            } else {
                let message = format!("`{}` stands here twice", needed.value);
                let mistake = Diagnostic::new(Code::ValueWrong, needed.span, message);
                notes.note(mistake.help("remove one of them"));
            }
        }
    }
}

fn in_finally(first: &Spanned<Name>) -> Diagnostic {
    let message = "a `finally` step has no `depends_on`";
    Diagnostic::new(Code::ValueWrong, first.span, message)
        .help("remove it: finally steps follow all main steps, in the order they are written")
}

fn exists(scene: &Scene<'_>, needed: &Spanned<Name>, notes: &mut Notes) {
    let id = needed.value.as_str();
    match scene.find(id) {
        Some(at) if scene.is_finally(at) => {
            let message = format!("`{id}` is a `finally` step, which runs after all main steps");
            let mistake = Diagnostic::new(Code::UnknownStep, needed.span, message);
            notes.note(
                mistake
                    .also(scene.step(at).id.span, "it is declared here")
                    .help("a main step can depend on main steps only"),
            );
        }
        None if scene.is_absent(id) => {
            let message = format!("there is no step `{id}`");
            let mistake = Diagnostic::new(Code::UnknownStep, needed.span, message);
            let known = scene
                .steps
                .iter()
                .take(scene.main)
                .map(|step| step.id.value.as_str());
            notes.misspelt(mistake, id, known, "write the id of a step of this plan");
        }
        _ => {}
    }
}
