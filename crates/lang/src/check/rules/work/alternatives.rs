use crate::check::{FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};

/// Checks that a step with alternatives can use them: the controller of a plan with `replan`
/// chooses among them, and leaves `finally` steps alone.
pub(crate) fn check(scene: &RuleContext<'_>, notes: &mut FileDiagnostics) {
    let replans = scene.plan.replan.is_some() || !scene.is_absent("replan");
    let replans = replans || scene.plan.replans_stuck_agents();
    for (at, step) in scene.steps.iter().enumerate() {
        let Some(first) = step.alternatives.first() else {
            continue;
        };
        let id = &step.id.value;
        let (message, help) = if scene.is_finally(at) {
            let message = format!("the alternatives of `{id}` are never used: it is a `finally` step");
            (message, "`finally` steps run once, after all rounds; remove them")
        } else if !replans {
            let message = format!("the alternatives of `{id}` are never used: the plan has no `replan`");
            (message, "add `replan: {}` to the plan, or remove them")
        } else {
            continue;
        };
        let mistake = Diagnostic::new(Code::UnusedAlternatives, first.id.span, message);
        notes.note(mistake.with_help(help));
    }
}
