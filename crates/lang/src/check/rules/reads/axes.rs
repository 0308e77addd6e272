use crate::ast::{MatrixSpec, StepSpec};
use crate::check::{ExprRead, ExprSite, FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};
use wf_base::name::Name;
use wf_model::expr::ExprReference;

/// Checks that `item` and `matrix` are read inside a repeated step only, and that an axis is one of
/// the step's own.
pub(crate) fn check(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for read in &context.reads {
        let name = &read.reference.name;
        let is_item = matches!(name, ExprReference::Item | ExprReference::ItemKey | ExprReference::ItemIndex);
        if !is_item && !matches!(name, ExprReference::Matrix(_)) {
            continue;
        }
        match read.step.map(|at| context.step(at)) {
            Some(step) if !matches!(read.site, ExprSite::When | ExprSite::ForEach) => {
                inside(step, read, context, diagnostics);
            }
            Some(_) => {
                let place = read.site.noun();
                let message = format!("`{name}` is not available in {place}");
                let help = format!("{place} is evaluated once, before the items exist");
                diagnostics.note(mistake(read, message).with_help(help));
            }
            None => {
                let message = format!("`{name}` is not available in {}", read.site.noun());
                let help = "it is only available inside a step with `for_each` or `matrix`";
                diagnostics.note(mistake(read, message).with_help(help));
            }
        }
    }
}

fn mistake(read: &ExprRead<'_>, message: String) -> Diagnostic {
    Diagnostic::new(Code::UnknownName, read.reference.span, message)
}

fn inside(
    step: &StepSpec,
    read: &ExprRead<'_>,
    context: &RuleContext<'_>,
    diagnostics: &mut FileDiagnostics,
) {
    match (&read.reference.name, &step.matrix) {
        (ExprReference::Matrix(axis), Some(matrix)) => {
            axis_exists(axis, matrix, step, read, context, diagnostics);
        }
        (ExprReference::Matrix(_), None) => unrepeated("matrix", step, read, context, diagnostics),
        (ExprReference::Item, Some(_)) => {
            let message = "`item` is not available in a step with `matrix`".to_owned();
            diagnostics.note(mistake(read, message).with_help("read an axis: `matrix.AXIS`"));
        }
        (_, None) if step.for_each.is_none() => unrepeated("for_each", step, read, context, diagnostics),
        _ => {}
    }
}

fn axis_exists(
    axis: &str,
    matrix: &MatrixSpec,
    step: &StepSpec,
    read: &ExprRead<'_>,
    context: &RuleContext<'_>,
    diagnostics: &mut FileDiagnostics,
) {
    if !matrix.has_name(axis) && context.is_absent(axis) {
        let message = format!("unknown axis `{axis}` in the matrix of step `{}`", step.id.value);
        let known = matrix.names().map(Name::as_str);
        diagnostics.misspelt(mistake(read, message), axis, known, "use one of its axes");
    }
}

fn unrepeated(
    key: &str,
    step: &StepSpec,
    read: &ExprRead<'_>,
    context: &RuleContext<'_>,
    diagnostics: &mut FileDiagnostics,
) {
    // If there are other mistakes, the key may be there and unreadable.
    if context.is_absent(key) {
        let message = format!("`{}` is not available in a step without `{key}`", read.reference.name);
        let mistake = mistake(read, message).with_related(step.id.span, "the step");
        diagnostics.note(mistake.with_help(format!("add `{key}` to the step")));
    }
}
