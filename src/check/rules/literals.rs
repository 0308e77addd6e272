use super::{Notes, Scene};
use crate::diag::{Code, Diagnostic};
use crate::expr::templates_in_script;
use crate::source::Span;
use crate::spec::ast::{Check, Step};

/// A key that takes its text as it stands contains no template, which would be taken for text.
pub(super) fn check(scene: &Scene<'_>, notes: &mut Notes) {
    for step in scene.ways() {
        of_step(step, notes);
        step.checks().for_each(|check| of_check(check, notes));
    }
    for check in scene.plan.checks() {
        of_check(check, notes);
    }
}

fn of_step(step: &Step, notes: &mut Notes) {
    if let Some(lock) = &step.concurrency {
        plain("concurrency", &lock.value, lock.span, notes);
    }
    if let Some(cache) = &step.cache {
        for glob in &cache.inputs {
            plain("cache", &glob.value.0, glob.span, notes);
        }
    }
}

fn of_check(check: &Check, notes: &mut Notes) {
    if let Some(cwd) = &check.cwd {
        let help =
            "write the folder itself; pass what differs by `env`, or as an argument of `exec`";
        helped(("cwd", help), &cwd.value.0, cwd.span, notes);
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

fn plain(key: &str, text: &str, span: Span, notes: &mut Notes) {
    helped((key, "write the text itself"), text, span, notes);
}

fn helped((key, help): (&str, &str), text: &str, span: Span, notes: &mut Notes) {
    if let Some((_, name)) = templates_in_script(text).first() {
        let message = format!("`{key}` takes no template: `{name}` would not be looked up");
        let mistake = Diagnostic::new(Code::ValueWrong, span, message);
        notes.note(mistake.help(help));
    }
}
