use super::{Notes, Scene};
use crate::diag::{Code, Diagnostic};
use crate::expr::{Ref, Template};
use crate::source::Spanned;
use crate::spec::ast::Step;
use crate::spec::decode::{Glob, RelPath};

/// What a step leaves, and where it runs, is in the workspace, and each item of a repeated step
/// has its own files.
pub(super) fn check(scene: &Scene<'_>, notes: &mut Notes) {
    for step in scene.ways() {
        let fixed = step.cwd.as_ref().filter(|cwd| cwd.value.refs().is_empty());
        if let Some(cwd) = fixed
            && let Err(why) = RelPath::parse(cwd.value.source())
        {
            notes.note(Diagnostic::new(Code::ValueWrong, cwd.span, why));
        }
    }
    for step in &scene.steps {
        for glob in &step.artifacts {
            of_glob(step, glob, "record", notes);
        }
        for glob in &step.writes {
            of_text(glob, notes);
        }
        let Some(cache) = &step.cache else { continue };
        if let Some((key, help)) = without_result(step) {
            let message = format!("a step with `{key}` cannot be cached");
            notes.note(Diagnostic::new(Code::ValueWrong, cache.span, message).help(help));
            continue;
        }
        for glob in &cache.outputs {
            of_glob(step, glob, "put back", notes);
        }
    }
}

/// A glob of what a step leaves. What an expression in it gives is looked at when it is known.
fn of_glob(step: &Step, glob: &Spanned<Template>, verb: &str, notes: &mut Notes) {
    let repeated = step.for_each.is_some() || step.matrix.is_some();
    if repeated && !of_item(glob) {
        notes.note(shared(step, glob, verb));
    }
    of_text(glob, notes);
}

/// A glob as it is written.
fn of_text(glob: &Spanned<Template>, notes: &mut Notes) {
    if glob.value.refs().is_empty()
        && let Err(why) = Glob::parse(glob.value.source())
    {
        notes.note(Diagnostic::new(Code::ValueWrong, glob.span, why));
    }
}

/// The work that leaves nothing to keep: a plan that is used may do anything, and a wait does
/// nothing.
fn without_result(step: &Step) -> Option<(&'static str, &'static str)> {
    if step.uses.is_some() {
        Some(("uses", "give `cache` to the steps of the plan that it uses"))
    } else if step.wait.is_some() {
        Some(("wait", "leave `cache` out: a wait has no result to keep"))
    } else {
        None
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

fn shared(step: &Step, glob: &Spanned<Template>, verb: &str) -> Diagnostic {
    let message = format!(
        "every item of step `{}` would {verb} the files of all of them",
        step.id.value
    );
    let help = "name the files of the item, for example `out/{{ item_key }}.txt`";
    Diagnostic::new(Code::ValueWrong, glob.span, message).help(help)
}
