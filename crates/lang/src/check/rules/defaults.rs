use super::{FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};

/// Checks that a default satisfies its own parameter.
pub(super) fn check(scene: &RuleContext<'_>, notes: &mut FileDiagnostics) {
    for (name, param) in scene.plan.params.iter() {
        let Some(default) = &param.default else {
            continue;
        };
        if let Some(mistake) = param.schema.first_mistake(&default.value) {
            let message = format!("invalid default for `{}`: {mistake}", name.value);
            notes.note(Diagnostic::new(Code::DefaultInvalid, default.span, message));
        }
    }
}
