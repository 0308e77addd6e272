use serde_json::Value;

use crate::{
    ast::{PlanSpec, StepSpec},
    check::{FileDiagnostics, RuleContext},
    decode::ArgumentTemplate,
};
use wf_base::{
    diag::{Code, Diagnostic},
    name::Name,
    source::Spanned,
};
use wf_model::ValueSchema;

/// Checks that the user of a plan, a step or `undo`, gives it its parameters: no unknown ones, all required ones,
/// and of the right type as far as known.
pub(crate) fn check_uses(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for step in context.ways().chain(context.plan.undo_step()) {
        let Some((file, plan)) = context.used(step) else {
            continue;
        };
        let is_whole = context.loaded.is_whole(file);
        for (name, value) in step.with.iter() {
            check_argument(step, name, value, plan, is_whole, diagnostics);
        }
        if !context.may_hide_uses() {
            required(step, plan, diagnostics);
        }
    }
}

fn check_argument(
    step: &StepSpec,
    name: &Spanned<Name>,
    value: &Spanned<ArgumentTemplate>,
    plan: &PlanSpec,
    is_whole: bool,
    diagnostics: &mut FileDiagnostics,
) {
    let mut params = plan.params.iter();
    match params.find(|(param, _)| param.value == name.value) {
        Some((_, param)) => {
            if let Some(mistake) = misfit(value, &param.schema) {
                let message = format!("parameter `{}`: {mistake}", name.value);
                diagnostics.note(Diagnostic::new(Code::TypeWrong, value.span, message));
            }
        }
        None if is_whole => {
            let path = step.used_file().map_or("", |path| path.value.as_str());
            let message = format!("`{path}` has no parameter `{}`", name.value);
            let mistake = Diagnostic::new(Code::UnknownParam, name.span, message);
            let names = plan.params.iter().map(|(param, _)| param.value.as_str());
            let help = "remove it, or declare it under `params` of that plan";
            diagnostics.misspelt(mistake, name.value.as_str(), names, help);
        }
        None => {}
    }
}

/// Returns the mistake in a constant value. Text is parsed as the type asked for, as
/// in a run.
fn misfit(argument: &ArgumentTemplate, schema: &ValueSchema) -> Option<String> {
    match argument.0.constant()? {
        Value::String(text) => schema.first_mistake(&schema.read(&text)),
        other => schema.first_mistake(&other),
    }
}

fn required(step: &StepSpec, plan: &PlanSpec, diagnostics: &mut FileDiagnostics) {
    let Some(path) = step.used_file() else { return };
    for (name, param) in plan.params.iter() {
        let is_given = || step.with.iter().any(|(with, _)| with.value == name.value);
        if param.default.is_none() && !is_given() {
            let message = format!("`{}` requires the parameter `{}`", path.value, name.value);
            let mistake = Diagnostic::new(Code::KeyMissing, path.span, message);
            diagnostics.note(mistake.with_help(format!("add it: `with: {{{}: …}}`", name.value)));
        }
    }
}
