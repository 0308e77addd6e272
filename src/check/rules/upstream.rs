use super::{Notes, Read, Scene, Site};
use crate::diag::{Code, Diagnostic};
use crate::expr::Ref;

/// A step reads only from steps that have ended when it starts: a main step from those it depends
/// on, a `finally` step from main steps and the `finally` steps before it. A check of a step comes
/// after its work, and reads what that gave.
pub(super) fn check(scene: &Scene<'_>, notes: &mut Notes) {
    let mut asked = Vec::new();
    let mut questions = Vec::new();
    for read in &scene.reads {
        let target = read.what.name.step().and_then(|id| scene.find(id));
        let Some(target) = target else { continue };
        match read.step {
            None if read.site == Site::PlanEnv => notes.note(in_plan_env(read)),
            None => {}
            Some(at) if at == target && of_own_result(read) => {}
            Some(at) if at == target => notes.note(itself(read)),
            Some(at) if target > at && scene.is_finally(target) => {
                notes.note(later(read, target, scene));
            }
            Some(at) if scene.is_finally(at) => {}
            Some(at) => {
                asked.push((read, at, target));
                questions.push((at, target));
            }
        }
    }
    let answers = scene.graph.reaches(&questions);
    for ((read, at, target), is_upstream) in asked.into_iter().zip(answers) {
        if !is_upstream {
            notes.note(unordered(read, at, target, scene));
        }
    }
}

fn of_own_result(read: &Read<'_>) -> bool {
    read.site == Site::Check && matches!(read.what.name, Ref::Output { .. })
}

fn mistake(read: &Read<'_>, message: String) -> Diagnostic {
    Diagnostic::new(Code::NotUpstream, read.what.span, message)
}

fn in_plan_env(read: &Read<'_>) -> Diagnostic {
    let message = "a variable for every step cannot read from a step".to_owned();
    mistake(read, message).help("put it into the `env` of the steps that need it")
}

fn itself(read: &Read<'_>) -> Diagnostic {
    let message = "a step cannot read from itself".to_owned();
    mistake(read, message)
        .help("its results exist only when it has ended; its checks may read its outputs")
}

fn later(read: &Read<'_>, target: usize, scene: &Scene<'_>) -> Diagnostic {
    let message = format!(
        "the `finally` step `{}` runs later than this",
        scene.id(target)
    );
    mistake(read, message).also(scene.step(target).id.span, "it is declared here")
}

fn unordered(read: &Read<'_>, at: usize, target: usize, scene: &Scene<'_>) -> Diagnostic {
    let (step, target) = (scene.id(at), scene.id(target));
    let message = format!("step `{step}` reads from `{target}`, and does not depend on it");
    mistake(read, message).help(format!("add `{target}` to `depends_on` of step `{step}`"))
}
