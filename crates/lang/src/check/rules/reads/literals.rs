use crate::ast::{CheckSpec, StepSpec};
use crate::check::{FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Span;
use wf_model::expr::templates_in_script;

/// Checks that a literal key contains no template, which would be taken for text.
pub(crate) fn check(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for step in context.ways() {
        of_step(step, diagnostics);
        step.checks().for_each(|check| of_check(check, diagnostics));
    }
    for check in context.plan.checks() {
        of_check(check, diagnostics);
    }
}

fn of_step(step: &StepSpec, diagnostics: &mut FileDiagnostics) {
    if let Some(lock) = &step.concurrency {
        plain("concurrency", &lock.0.lock.value, lock.0.lock.span, diagnostics);
    }
}

fn of_check(check: &CheckSpec, diagnostics: &mut FileDiagnostics) {
    if let Some(cwd) = &check.cwd {
        let help = "write a literal folder; pass variable parts via `env`, or as an argument of `exec`";
        note_with_help("cwd", help, &cwd.value.0, cwd.span, diagnostics);
    }
    let Some(expect) = &check.expect else { return };
    for path in &expect.file_exists.0 {
        plain("file_exists", &path.value.0, path.span, diagnostics);
    }
    for (key, text) in [("equals", &expect.equals), ("contains", &expect.contains)] {
        if let Some(text) = text {
            plain(key, text, check.name.span, diagnostics);
        }
    }
}

fn plain(key: &str, text: &str, span: Span, diagnostics: &mut FileDiagnostics) {
    note_with_help(key, "write a literal value", text, span, diagnostics);
}

fn note_with_help(key: &str, help: &str, text: &str, span: Span, diagnostics: &mut FileDiagnostics) {
    if let Some((_, name)) = templates_in_script(text).first() {
        let message = format!("templates are not supported in `{key}` (found `{name}`)");
        let mistake = Diagnostic::new(Code::ValueWrong, span, message);
        diagnostics.note(mistake.with_help(help));
    }
}
