use crate::check::{ExprRead, ExprSite, FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};
use wf_model::expr::ExprReference;

/// Checks that a step reads only from steps that have ended when it starts: a main step from its
/// dependencies, a `finally` step from main steps and the `finally` steps before it. A check of a
/// step runs after its work, and reads its outputs.
pub(crate) fn check(scene: &RuleContext<'_>, notes: &mut FileDiagnostics) {
    let mut reads = Vec::new();
    let mut questions = Vec::new();
    for read in &scene.reads {
        let target = read.reference.name.step().and_then(|id| scene.find(id));
        let Some(target) = target else { continue };
        match read.step {
            None if read.site == ExprSite::PlanEnv => notes.note(in_plan_env(read)),
            None => {}
            Some(at) if at == target && reads_own_result(read) => {}
            Some(at) if at == target => notes.note(reads_itself(read)),
            Some(at) if target > at && scene.is_finally(target) => {
                notes.note(reads_later_step(read, target, scene));
            }
            Some(at) if scene.is_finally(at) => {}
            Some(at) => {
                reads.push((read, at, target));
                questions.push((at, target));
            }
        }
    }
    let answers = scene.graph.reaches(&questions);
    for ((read, at, target), is_upstream) in reads.into_iter().zip(answers) {
        if !is_upstream {
            notes.note(reads_unordered_step(read, at, target, scene));
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

fn reads_later_step(read: &ExprRead<'_>, target: usize, scene: &RuleContext<'_>) -> Diagnostic {
    let message = format!("the `finally` step `{}` runs after this one", scene.id(target));
    mistake(read, message).with_related(scene.step(target).id.span, "it is declared here")
}

fn reads_unordered_step(
    read: &ExprRead<'_>,
    at: usize,
    target: usize,
    scene: &RuleContext<'_>,
) -> Diagnostic {
    let (step, target) = (scene.id(at), scene.id(target));
    let message = format!("step `{step}` reads from `{target}`, but does not depend on it");
    mistake(read, message).with_help(format!("add `{target}` to `depends_on` of step `{step}`"))
}
