use crate::check::{FileDiagnostics, RuleContext};
use serde_json::Value;
use wf_base::diag::{Code, Diagnostic};
use wf_base::name::Name;
use wf_base::source::Spanned;
use wf_model::ValueSchema;

/// Checks that a default satisfies its own parameter or output.
pub(crate) fn check(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for (name, param) in context.plan.params.iter() {
        fits(name, &param.schema, param.default.as_ref(), diagnostics);
    }
    for (name, output) in context.steps.iter().flat_map(|step| step.outputs.iter()) {
        fits(name, &output.schema, output.default.as_ref(), diagnostics);
    }
    for (name, output) in context.plan.outputs.iter() {
        fits(name, &output.value.schema, output.value.default.as_ref(), diagnostics);
    }
}

fn fits(
    name: &Spanned<Name>,
    schema: &ValueSchema,
    default: Option<&Spanned<Value>>,
    diagnostics: &mut FileDiagnostics,
) {
    let Some(default) = default else { return };
    if let Some(mistake) = schema.first_mistake(&default.value) {
        let message = format!("invalid default for `{}`: {mistake}", name.value);
        diagnostics.note(Diagnostic::new(Code::DefaultInvalid, default.span, message));
    }
}
