use crate::check::{ExprRead, ExprSite, FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};
use wf_model::expr::ExprReference;

/// Checks that a step reads only from steps that have ended when it starts: a main step from its
/// dependencies, a `finally` step from main steps and the `finally` steps before it. A check of a
/// step runs after its work, and reads its outputs.
pub(crate) fn check(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    let mut reads = Vec::new();
    let mut questions = Vec::new();
    for read in &context.reads {
        let target = read.reference.name.step().and_then(|id| context.find(id));
        let Some(target) = target else { continue };
        match read.step {
            None if read.site == ExprSite::PlanEnv => diagnostics.note(in_plan_env(read)),
            None => {}
            Some(at) if at == target && reads_own_result(read) => {}
            Some(at) if at == target => diagnostics.note(reads_itself(read)),
            Some(at) if target > at && context.is_finally(target) => {
                diagnostics.note(reads_later_step(read, target, context));
            }
            Some(at) if context.is_finally(at) => {}
            Some(at) => {
                reads.push((read, at, target));
                questions.push((at, target));
            }
        }
    }
    let answers = context.graph.reaches(&questions);
    for ((read, at, target), is_upstream) in reads.into_iter().zip(answers) {
        if !is_upstream {
            diagnostics.note(reads_unordered_step(read, at, target, context));
        }
    }
}

fn reads_own_result(read: &ExprRead<'_>) -> bool {
    read.site == ExprSite::Check && matches!(read.reference.name, ExprReference::Output { .. })
}

fn mistake(read: &ExprRead<'_>, message: String) -> Diagnostic {
    Diagnostic::new(Code::NotUpstream, read.reference.span, message)
}

fn in_plan_env(read: &ExprRead<'_>) -> Diagnostic {
    let message = "the plan's `env` applies to every step, so it cannot read from a step".to_owned();
    mistake(read, message).with_help("move it to the `env` of the steps that need it")
}

fn reads_itself(read: &ExprRead<'_>) -> Diagnostic {
    let message = "a step cannot read from itself".to_owned();
    mistake(read, message)
        .with_help("its results exist only after it has finished; its checks may read its outputs")
}

fn reads_later_step(read: &ExprRead<'_>, target: usize, context: &RuleContext<'_>) -> Diagnostic {
    let message = format!("the `finally` step `{}` runs after this one", context.id(target));
    mistake(read, message).with_related(context.step(target).id.span, "it is declared here")
}

fn reads_unordered_step(
    read: &ExprRead<'_>,
    at: usize,
    target: usize,
    context: &RuleContext<'_>,
) -> Diagnostic {
    let (step, target) = (context.id(at), context.id(target));
    let message = format!("step `{step}` reads from `{target}`, but does not depend on it");
    mistake(read, message).with_help(format!("add `{target}` to `depends_on` of step `{step}`"))
}
