use super::{Notes, Scene};
use crate::diag::{Code, Diagnostic};
use crate::expr::{Ref, Template};
use crate::source::Spanned;
use crate::spec::ast::Step;
use crate::spec::decode::Glob;

/// What a cache keeps are files of the workspace, and each item of a repeated step has its own.
pub(super) fn check(scene: &Scene<'_>, notes: &mut Notes) {
    for step in &scene.steps {
        let Some(cache) = &step.cache else { continue };
        let repeated = step.for_each.is_some() || step.matrix.is_some();
        for glob in &cache.outputs {
            if repeated && !of_item(glob) {
                notes.note(shared(step, glob));
            }
            let bad = glob
                .value
                .refs()
                .is_empty()
                .then(|| Glob::parse(glob.value.source()));
            if let Some(Err(why)) = bad {
                notes.note(Diagnostic::new(Code::ValueWrong, glob.span, why));
            }
        }
    }
}

fn of_item(glob: &Template) -> bool {
    let mut refs = glob.refs().iter();
    refs.any(|read| {
        matches!(
            read.name,
            Ref::Item | Ref::ItemKey | Ref::ItemIndex | Ref::Matrix(_)
        )
    })
}

fn shared(step: &Step, glob: &Spanned<Template>) -> Diagnostic {
    let message = format!(
        "every item of step `{}` would put back the files of all of them",
        step.id.value
    );
    let help = "name the files of the item, for example `out/{{ item_key }}.txt`";
    Diagnostic::new(Code::ValueWrong, glob.span, message).help(help)
}
