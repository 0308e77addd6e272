use super::{Notes, Scene};
use crate::diag::{Code, Diagnostic};

/// A default satisfies its own parameter.
pub(super) fn check(scene: &Scene<'_>, notes: &mut Notes) {
    for (name, param) in scene.plan.params.iter() {
        let Some(default) = &param.default else {
            continue;
        };
        if let Some(mistake) = param.schema.mistake(&default.value) {
            let message = format!("the default of `{}` is not allowed: {mistake}", name.value);
            notes.note(Diagnostic::new(Code::DefaultInvalid, default.span, message));
        }
    }
}
