use super::{Notes, Scene};
use crate::diag::{Code, Diagnostic};

/// Other ways of a step are there to be chosen from: by the controller of a plan with `replan`,
/// which leaves `finally` steps alone.
pub(super) fn check(scene: &Scene<'_>, notes: &mut Notes) {
    let replans = scene.plan.replan.is_some() || !scene.is_absent("replan");
    for (at, step) in scene.steps.iter().enumerate() {
        let Some(first) = step.alternatives.first() else {
            continue;
        };
        let id = &step.id.value;
        let (message, help) = if scene.is_finally(at) {
            let message =
                format!("the alternatives of `{id}` are never used: it is a `finally` step");
            (
                message,
                "`finally` steps run once, after all rounds; leave them out",
            )
        } else if !replans {
            let message =
                format!("the alternatives of `{id}` are never used: the plan has no `replan`");
            (message, "add `replan: {}` to the plan, or leave them out")
        } else {
            continue;
        };
        let mistake = Diagnostic::new(Code::UnusedAlternatives, first.id.span, message);
        notes.note(mistake.help(help));
    }
}
