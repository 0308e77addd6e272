use crate::ast::StepSpec;
use crate::check::{FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};
use wf_model::OnStuck;

/// Checks that there is a planner that can write the plan of each open step, and that nothing relies on it: it may stay
/// unwritten.
pub(crate) fn check(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    let plan = context.plan;
    let has_planner = plan.planner.is_some() && plan.on_stuck != Some(OnStuck::Abandon);
    for (at, step) in context.steps.iter().enumerate().filter(|(_, step)| is_open(step)) {
        let id = &step.id.value;
        if context.is_finally(at) {
            let message =
                format!("nobody can write the plan of `{id}`: a `finally` step runs once, after all rounds");
            let mistake = Diagnostic::new(Code::ExecutorMissing, step.id.span, message);
            diagnostics.note(mistake.with_help(
                "move it to `steps`, or write the text: `text: \"{{ steps.write.outputs.plan }}\"`",
            ));
        } else if !has_planner {
            let message = format!(
                "nobody can write the plan of `{id}`: its `uses` has no `text`, and there is no planner"
            );
            let mistake = Diagnostic::new(Code::ExecutorMissing, step.id.span, message);
            diagnostics.note(mistake.with_help(
                "write the text, `text: \"{{ steps.write.outputs.plan }}\"`, or add `replan: {}` and `planner: {role: planner}`",
            ));
        }
        if let Some((output, _)) = step.outputs.iter().next() {
            let message =
                format!("`{id}` cannot promise outputs: it does nothing until a planner writes its plan");
            let mistake = Diagnostic::new(Code::ValueWrong, output.span, message);
            diagnostics.note(
                mistake.with_help("remove `outputs`; let the plan write files, which later steps read"),
            );
        }
    }
}

fn is_open(step: &StepSpec) -> bool {
    step.generated().is_some_and(|made| made.text.is_none())
}
