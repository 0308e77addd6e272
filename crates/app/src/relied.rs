//! Warnings of undeclared files that checks read, before a run detects them.

use super::Workspace;
use crate::config::WorkspaceConfig;
use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Span;
use wf_exec::view::{UndeclaredFile, undeclared_files};
use wf_lang::{self as lang, LoadedSpec, ast};

/// Warns of checks of a plan that read an undeclared product of a step.
pub fn warn_of_undeclared_reads(workspace: &Workspace, loaded: &mut LoadedSpec) {
    if loaded.has_errors() {
        return;
    }
    let Ok(plan) = lang::lower(loaded, &WorkspaceConfig::default().defaults) else {
        return;
    };
    let found = undeclared_files(&plan, &workspace.root);
    let told = found.iter().filter_map(|one| {
        let span = span(loaded.root()?, one)?;
        Some((0, warning_text(one, span)))
    });
    let told: Vec<_> = told.collect();
    loaded.diagnostics.extend(told);
}

fn warning_text(one: &UndeclaredFile, span: Span) -> Diagnostic {
    let UndeclaredFile { check, path, maker, .. } = one;
    let path = path.display();
    let message = format!("the check `{check}` reads `{path}`, which step `{maker}` does not declare");
    let help = format!(
        "list it in `artifacts` or `writes` of `{maker}`: the file stays for the next run, and a check is invalid if such a file changes undeclared"
    );
    Diagnostic::new(Code::ProductUndeclared, span, message).with_help(help)
}

/// The place where the name of a check is written.
fn span(plan: &ast::PlanSpec, one: &UndeclaredFile) -> Option<Span> {
    let own = |step: &&ast::StepSpec| Some(&step.id.value) == one.step.as_ref();
    let checks: Vec<&ast::CheckSpec> = match plan.all_steps().find(own) {
        Some(step) => step.checks().collect(),
        None => plan.checks().collect(),
    };
    let named = checks.into_iter().find(|check| check.name.value == one.check);
    named.map(|check| check.name.span)
}
