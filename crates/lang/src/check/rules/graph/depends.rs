use std::collections::BTreeSet;

use crate::check::{FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};
use wf_base::name::Name;
use wf_base::source::Spanned;

/// Checks that a main step depends on existing main steps, on each once; a `finally` step on none.
pub(crate) fn check(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for (at, step) in context.steps.iter().enumerate() {
        if context.is_finally(at) {
            if let Some(first) = step.depends_on.first() {
                diagnostics.note(in_finally(first));
            }
            continue;
        }
        // The graph has every existing main step once.
        if context.graph.needs(at).len() == step.depends_on.len() {
            continue;
        }
        let mut seen = BTreeSet::new();
        for needed in &step.depends_on {
            if seen.insert(needed.value.as_str()) {
                exists(context, needed, diagnostics);
            } else {
                let message = format!("`{}` is listed twice", needed.value);
                let mistake = Diagnostic::new(Code::ValueWrong, needed.span, message);
                diagnostics.note(mistake.with_help("remove one of them"));
            }
        }
    }
}

fn in_finally(first: &Spanned<Name>) -> Diagnostic {
    let message = "a `finally` step cannot have `depends_on`";
    Diagnostic::new(Code::ValueWrong, first.span, message)
        .with_help("remove it: finally steps run after all main steps, in the order they are written")
}

fn exists(context: &RuleContext<'_>, needed: &Spanned<Name>, diagnostics: &mut FileDiagnostics) {
    let id = needed.value.as_str();
    match context.find(id) {
        Some(at) if context.is_finally(at) => {
            let message = format!("`{id}` is a `finally` step, which runs after all main steps");
            let mistake = Diagnostic::new(Code::UnknownStep, needed.span, message);
            diagnostics.note(
                mistake
                    .with_related(context.step(at).id.span, "it is declared here")
                    .with_help("a main step can only depend on main steps"),
            );
        }
        None if context.is_absent(id) => {
            let message = format!("unknown step `{id}`");
            let mistake = Diagnostic::new(Code::UnknownStep, needed.span, message);
            let known = context.steps.iter().take(context.main).map(|step| step.id.value.as_str());
            diagnostics.misspelt(mistake, id, known, "use the id of a step of this plan");
        }
        _ => {}
    }
}
