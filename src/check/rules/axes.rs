use super::{Notes, Read, Scene, Site};
use crate::diag::{Code, Diagnostic};
use crate::expr::Ref;
use crate::spec::ast::Step;

/// `item` and `matrix` have values inside a step that is repeated, and an axis is one of the
/// step's own.
pub(super) fn check(scene: &Scene<'_>, notes: &mut Notes) {
    for read in &scene.reads {
        let name = &read.what.name;
        let is_item = matches!(name, Ref::Item | Ref::ItemKey | Ref::ItemIndex);
        if !is_item && !matches!(name, Ref::Matrix(_)) {
            continue;
        }
        match read.step.map(|at| scene.step(at)) {
            Some(step) if !matches!(read.site, Site::When | Site::ForEach) => {
                inside(step, read, scene, notes);
            }
            Some(_) => {
                let place = read.site.noun();
                let message = format!("`{name}` has no value in {place}");
                let help = format!("{place} is asked once, before there are items");
                notes.note(mistake(read, message).help(help));
            }
            None => {
                let message = format!("`{name}` has no value in {}", read.site.noun());
                let help = "it has one inside a step with `for_each` or `matrix`";
                notes.note(mistake(read, message).help(help));
            }
        }
    }
}

fn mistake(read: &Read<'_>, message: String) -> Diagnostic {
    Diagnostic::new(Code::UnknownName, read.what.span, message)
}

fn inside(step: &Step, read: &Read<'_>, scene: &Scene<'_>, notes: &mut Notes) {
    let name = &read.what.name;
    match (name, &step.for_each, &step.matrix) {
        (Ref::Matrix(axis), _, Some(matrix)) => {
            if !matrix.has(axis) && scene.is_absent(axis) {
                let message = format!(
                    "the matrix of step `{}` has no axis `{axis}`",
                    step.id.value
                );
                let axes = matrix.names().map(crate::name::Name::as_str);
                let help = "write one of its axes";
                notes.misspelt(mistake(read, message), axis, axes, help);
            }
        }
        (Ref::ItemKey | Ref::ItemIndex, None, Some(_)) | (_, Some(_), None)
            if !matches!(name, Ref::Matrix(_)) => {}
        (_, Some(_), Some(_)) => {}
        (Ref::Item, None, Some(_)) => {
            let message = "`item` has no value in a step with `matrix`".to_owned();
            notes.note(mistake(read, message).help("read an axis: `matrix.AXIS`"));
        }
        // A step whose repetition could not be read may well be repeated.
        _ if scene.may_hide_uses() => {}
        _ => {
            let key = if matches!(name, Ref::Matrix(_)) {
                "matrix"
            } else {
                "for_each"
            };
            let message = format!("`{name}` has no value in a step without `{key}`");
            let mistake = mistake(read, message).also(step.id.span, "the step");
            notes.note(mistake.help(format!("give the step `{key}`")));
        }
    }
}
