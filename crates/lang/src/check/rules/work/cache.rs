use crate::ast::StepSpec;
use crate::check::{FileDiagnostics, RuleContext};
use crate::decode::{PathGlob, WorkspacePath};
use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Spanned;
use wf_model::expr::{ExprReference, Template};

/// Checks that the files of a step, and its working directory, are in the workspace, and that each
/// item of a repeated step has its own files.
pub(crate) fn check(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for step in context.ways() {
        let fixed = step.cwd.as_ref().filter(|cwd| cwd.value.refs().is_empty());
        if let Some(cwd) = fixed
            && let Err(reason) = WorkspacePath::parse(cwd.value.source())
        {
            diagnostics.note(Diagnostic::new(Code::ValueWrong, cwd.span, reason));
        }
    }
    for step in &context.steps {
        for glob in &step.artifacts {
            of_glob(step, glob, "record", diagnostics);
        }
        for glob in &step.writes {
            of_text(glob, diagnostics);
        }
        let Some(cache) = &step.cache else { continue };
        if let Some((key, help)) = without_result(step) {
            let message = format!("a step with `{key}` cannot be cached");
            diagnostics.note(Diagnostic::new(Code::ValueWrong, cache.span, message).with_help(help));
            continue;
        }
        for glob in &cache.inputs {
            of_text(glob, diagnostics);
        }
        for glob in &cache.outputs {
            of_glob(step, glob, "restore", diagnostics);
        }
    }
}

/// Checks a glob of a step's files. The value of an expression in it is checked when it is known.
fn of_glob(step: &StepSpec, glob: &Spanned<Template>, verb: &str, diagnostics: &mut FileDiagnostics) {
    let repeated = step.for_each.is_some() || step.matrix.is_some();
    if repeated && !of_item(glob) {
        diagnostics.note(shared(step, glob, verb));
    }
    of_text(glob, diagnostics);
}

/// A glob as it is written.
fn of_text(glob: &Spanned<Template>, diagnostics: &mut FileDiagnostics) {
    if glob.value.refs().is_empty()
        && let Err(reason) = PathGlob::parse(glob.value.source())
    {
        diagnostics.note(Diagnostic::new(Code::ValueWrong, glob.span, reason));
    }
}

/// Returns the key of work without a result to keep, and advice: a plan that is used may do
/// anything, and a wait does nothing.
fn without_result(step: &StepSpec) -> Option<(&'static str, &'static str)> {
    if step.uses.is_some() {
        Some(("uses", "add `cache` to the steps of the plan that it uses"))
    } else if step.wait.is_some() {
        Some(("wait", "remove `cache`: a wait has no result to cache"))
    } else {
        None
    }
}

fn of_item(glob: &Template) -> bool {
    let mut refs = glob.refs().iter();
    refs.any(|read| {
        matches!(
            read.name,
            ExprReference::Item
                | ExprReference::ItemKey
                | ExprReference::ItemIndex
                | ExprReference::Matrix(_)
        )
    })
}

fn shared(step: &StepSpec, glob: &Spanned<Template>, verb: &str) -> Diagnostic {
    let message = format!("every item of step `{}` would {verb} the files of all of them", step.id.value);
    let help = "include the item in the path, for example `out/{{ item_key }}.txt`";
    Diagnostic::new(Code::ValueWrong, glob.span, message).with_help(help)
}
