use crate::ast::{CheckSpec, StepSpec};
use crate::check::{FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Span;
use wf_model::expr::templates_in_script;

/// Checks that a literal key contains no template, which would be taken for text.
pub(crate) fn check(scene: &RuleContext<'_>, notes: &mut FileDiagnostics) {
    for step in scene.ways() {
        of_step(step, notes);
        step.checks().for_each(|check| of_check(check, notes));
    }
    for check in scene.plan.checks() {
        of_check(check, notes);
    }
}

fn of_step(step: &StepSpec, notes: &mut FileDiagnostics) {
    if let Some(lock) = &step.concurrency {
        plain("concurrency", &lock.0.lock.value, lock.0.lock.span, notes);
    }
}

fn of_check(check: &CheckSpec, notes: &mut FileDiagnostics) {
    if let Some(cwd) = &check.cwd {
        let help = "write a literal folder; pass variable parts via `env`, or as an argument of `exec`";
        note_with_help("cwd", help, &cwd.value.0, cwd.span, notes);
    }
    let Some(expect) = &check.expect else { return };
    for path in &expect.file_exists.0 {
        plain("file_exists", &path.value.0, path.span, notes);
    }
    for (key, text) in [("equals", &expect.equals), ("contains", &expect.contains)] {
        if let Some(text) = text {
            plain(key, text, check.name.span, notes);
        }
    }
}

fn plain(key: &str, text: &str, span: Span, notes: &mut FileDiagnostics) {
    note_with_help(key, "write a literal value", text, span, notes);
}

fn note_with_help(key: &str, help: &str, text: &str, span: Span, notes: &mut FileDiagnostics) {
    if let Some((_, name)) = templates_in_script(text).first() {
        let message = format!("templates are not supported in `{key}` (found `{name}`)");
        let mistake = Diagnostic::new(Code::ValueWrong, span, message);
        notes.note(mistake.with_help(help));
    }
}
