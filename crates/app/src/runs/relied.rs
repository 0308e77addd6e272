//! Warnings about files that checks rely on, before a run detects them.

use std::{
    cell::OnceCell,
    path::{Path, PathBuf},
};

use crate::{Host, Workspace, config::WorkspaceConfig, revision::tracked_files};
use wf_base::{
    diag::{Code, Diagnostic},
    name::Name,
    source::Span,
};
use wf_exec::{
    keyfile,
    view::{ProductAdvice, UndeclaredFile, paste_line, product_advice, undeclared_files},
};
use wf_lang::{self as lang, LoadedSpec, ast};

/// Warns of checks of a plan reading an undeclared product of a step, and of products under checks.
pub fn warn_of_files_of_checks(host: &Host, workspace: &Workspace, loaded: &mut LoadedSpec) {
    if loaded.has_errors() {
        return;
    }
    let Ok(plan) = lang::lower(loaded, &WorkspaceConfig::default().defaults) else {
        return;
    };
    let files = undeclared_files(&plan, &workspace.root);
    let undeclared = files.iter().filter_map(|file| {
        let span = span_of_check(loaded.root()?, file.step.as_ref(), &file.check)?;
        Some((0, warning_text(file, span)))
    });
    let mut warnings: Vec<_> = undeclared.collect();
    let keys = keyfile::folders(&host.vars()).into_iter();
    let apart: Vec<PathBuf> = keys.chain([workspace.state.clone()]).collect();
    // Git is asked once, and only if it matters.
    let known = OnceCell::new();
    let tracked = |path: &Path| {
        let tracked = known.get_or_init(|| tracked_files(host, workspace).ok().flatten());
        tracked.as_ref().map(|tracked| tracked.contains(path))
    };
    let advice = product_advice(&plan, &workspace.root, &apart, &tracked);
    warnings.extend(advice.iter().filter_map(|advice| Some((0, advice_text(loaded.root()?, advice)?))));
    loaded.diagnostics.extend(warnings);
}

/// Renders advice about products.
fn advice_text(plan: &ast::PlanSpec, advice: &ProductAdvice) -> Option<Diagnostic> {
    Some(match advice {
        ProductAdvice::Nothing { step } => {
            let message =
                format!("step `{step}` may write the whole workspace, and names nothing that it makes");
            let help = "checks see a changed file only if a step makes it; list what this one makes beside `allow`, for example \
                        `writes: [calc.py]` or `writes: [\"src/**\"]`";
            Diagnostic::new(Code::ProductNone, span_of_step(plan, step)?, message).with_help(help)
        }
        ProductAdvice::Everything { step, check, held_paths: held } => {
            let message = format!(
                "the steps may change everything that the check `{check}` reads: a pass is only `reported`"
            );
            let help = if held.is_empty() {
                "let the steps name what they make in `writes`, or list in `fixed` of the check what no step may change".to_owned()
            } else {
                let line = paste_line("fixed", held);
                format!("let the steps name what they make in `writes`, or add to the check: `{line}`")
            };
            let span = span_of_check(plan, step.as_ref(), check)?;
            Diagnostic::new(Code::ProductEverything, span, message).with_help(help)
        }
        ProductAdvice::CheckInput { step, check, path, maker } => {
            let path = path.display();
            let message = format!("step `{maker}` may change `{path}`, which the check `{check}` names");
            let help =
                format!("remove `{path}` from its `writes` if it belongs to the check, not to the work");
            let span = span_of_check(plan, step.as_ref(), check)?;
            Diagnostic::new(Code::ProductOfCheck, span, message).with_help(help)
        }
        ProductAdvice::Harness { step, path, reason } => {
            let message = format!("the products of step `{step}` include `{}`: {reason}", path.display());
            let line = paste_line("fixed", std::slice::from_ref(path));
            let help = format!("name the products more narrowly in `writes`, or add to the check: `{line}`");
            Diagnostic::new(Code::ProductHarness, span_of_step(plan, step)?, message).with_help(help)
        }
    })
}

fn warning_text(file: &UndeclaredFile, span: Span) -> Diagnostic {
    let UndeclaredFile { check, path, maker, .. } = file;
    let path = path.display();
    let message = format!("the check `{check}` reads `{path}`, which step `{maker}` does not declare");
    let help = format!(
        "list it in `artifacts` or `writes` of `{maker}`: the file stays for the next run, and a check is invalid if such a file changes undeclared"
    );
    Diagnostic::new(Code::ProductUndeclared, span, message).with_help(help)
}

/// Returns the place where the id of a step is written.
fn span_of_step(plan: &ast::PlanSpec, step: &Name) -> Option<Span> {
    plan.all_steps().find(|spec| spec.id.value == *step).map(|spec| spec.id.span)
}

/// Returns the place where the name of a check is written.
fn span_of_check(plan: &ast::PlanSpec, step: Option<&Name>, check: &Name) -> Option<Span> {
    let own = |spec: &&ast::StepSpec| Some(&spec.id.value) == step;
    let checks: Vec<&ast::CheckSpec> = match plan.all_steps().find(own) {
        Some(step) => step.checks().collect(),
        None => plan.checks().collect(),
    };
    let named = checks.into_iter().find(|spec| spec.name.value == *check);
    named.map(|spec| spec.name.span)
}
