use crate::check::{FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};

/// Checks that a step with alternatives can use them: the controller of a plan with `replan`
/// chooses among them, and leaves `finally` steps alone.
pub(crate) fn check(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    let replans = context.plan.replan.is_some() || !context.is_absent("replan");
    let replans = replans || context.plan.replans_stuck_agents();
    for (at, step) in context.steps.iter().enumerate() {
        let Some(first) = step.alternatives.first() else {
            continue;
        };
        let id = &step.id.value;
        let (message, help) = if context.is_finally(at) {
            let message = format!("the alternatives of `{id}` are never used: it is a `finally` step");
            (message, "`finally` steps run once, after all rounds; remove them")
        } else if !replans {
            let message = format!("the alternatives of `{id}` are never used: the plan has no `replan`");
            (message, "add `replan: {}` to the plan, or remove them")
        } else {
            continue;
        };
        let mistake = Diagnostic::new(Code::UnusedAlternatives, first.id.span, message);
        diagnostics.note(mistake.with_help(help));
    }
}
