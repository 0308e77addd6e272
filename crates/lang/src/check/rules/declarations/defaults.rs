use crate::check::{FileDiagnostics, RuleContext};
use serde_json::Value;
use wf_base::diag::{Code, Diagnostic};
use wf_base::name::Name;
use wf_base::source::Spanned;
use wf_model::ValueSchema;

/// Checks that a default satisfies its own parameter or output.
pub(crate) fn check(scene: &RuleContext<'_>, notes: &mut FileDiagnostics) {
    for (name, param) in scene.plan.params.iter() {
        fits(name, &param.schema, param.default.as_ref(), notes);
    }
    for (name, output) in scene.steps.iter().flat_map(|step| step.outputs.iter()) {
        fits(name, &output.schema, output.default.as_ref(), notes);
    }
    for (name, output) in scene.plan.outputs.iter() {
        fits(name, &output.value.schema, output.value.default.as_ref(), notes);
    }
}

fn fits(
    name: &Spanned<Name>,
    schema: &ValueSchema,
    default: Option<&Spanned<Value>>,
    notes: &mut FileDiagnostics,
) {
    let Some(default) = default else { return };
    if let Some(mistake) = schema.first_mistake(&default.value) {
        let message = format!("invalid default for `{}`: {mistake}", name.value);
        notes.note(Diagnostic::new(Code::DefaultInvalid, default.span, message));
    }
}
