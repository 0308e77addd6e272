use std::collections::BTreeSet;

use crate::check::{FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};
use wf_base::name::Name;
use wf_base::source::Spanned;

/// Checks that a main step depends on existing main steps, on each once; a `finally` step on none.
pub(crate) fn check(scene: &RuleContext<'_>, notes: &mut FileDiagnostics) {
    for (at, step) in scene.steps.iter().enumerate() {
        if scene.is_finally(at) {
            if let Some(first) = step.depends_on.first() {
                notes.note(in_finally(first));
            }
            continue;
        }
        // The graph has every existing main step once.
        if scene.graph.needs(at).len() == step.depends_on.len() {
            continue;
        }
        let mut seen = BTreeSet::new();
        for needed in &step.depends_on {
            if seen.insert(needed.value.as_str()) {
                exists(scene, needed, notes);
            } else {
                let message = format!("`{}` is listed twice", needed.value);
                let mistake = Diagnostic::new(Code::ValueWrong, needed.span, message);
                notes.note(mistake.with_help("remove one of them"));
            }
        }
    }
}

fn in_finally(first: &Spanned<Name>) -> Diagnostic {
    let message = "a `finally` step cannot have `depends_on`";
    Diagnostic::new(Code::ValueWrong, first.span, message)
        .with_help("remove it: finally steps run after all main steps, in the order they are written")
}

fn exists(scene: &RuleContext<'_>, needed: &Spanned<Name>, notes: &mut FileDiagnostics) {
    let id = needed.value.as_str();
    match scene.find(id) {
        Some(at) if scene.is_finally(at) => {
            let message = format!("`{id}` is a `finally` step, which runs after all main steps");
            let mistake = Diagnostic::new(Code::UnknownStep, needed.span, message);
            notes.note(
                mistake
                    .with_related(scene.step(at).id.span, "it is declared here")
                    .with_help("a main step can only depend on main steps"),
            );
        }
        None if scene.is_absent(id) => {
            let message = format!("unknown step `{id}`");
            let mistake = Diagnostic::new(Code::UnknownStep, needed.span, message);
            let known = scene.steps.iter().take(scene.main).map(|step| step.id.value.as_str());
            notes.misspelt(mistake, id, known, "use the id of a step of this plan");
        }
        _ => {}
    }
}
