use std::collections::BTreeMap;

use crate::check::{FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};
use wf_base::name::Name;
use wf_base::source::Spanned;

/// Checks that names are unique: those of main and `finally` steps together, those of a step's
/// checks of all phases, and those of the plan's own checks.
pub(crate) fn check(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    if !context.ids_differ() {
        distinct("step", context.steps.iter().map(|step| &step.id), diagnostics);
    }
    for step in &context.steps {
        distinct("check", step.checks().map(|check| &check.name), diagnostics);
    }
    let own = context.plan.checks();
    distinct("check", own.map(|check| &check.name), diagnostics);
    for step in &context.steps {
        let ids = step.alternatives.iter().map(|other| &other.id);
        distinct("alternative", ids, diagnostics);
    }
}

fn distinct<'a>(
    noun: &str,
    names: impl Iterator<Item = &'a Spanned<Name>>,
    diagnostics: &mut FileDiagnostics,
) {
    let mut seen = BTreeMap::new();
    for name in names {
        let Some(first) = seen.insert(name.value.as_str(), name.span) else {
            continue;
        };
        let message = format!("duplicate {noun} `{}`", name.value);
        let mistake = Diagnostic::new(Code::DuplicateId, name.span, message);
        diagnostics
            .note(mistake.with_related(first, "the other one is here").with_help("rename one of them"));
        seen.insert(name.value.as_str(), first);
    }
}
