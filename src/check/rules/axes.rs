use super::{Notes, Read, Scene, Site};
use crate::diag::{Code, Diagnostic};
use crate::expr::Ref;
use crate::name::Name;
use crate::spec::ast::{Matrix, Step};

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
    match (&read.what.name, &step.matrix) {
        (Ref::Matrix(axis), Some(matrix)) => axis_exists(axis, matrix, (step, read), scene, notes),
        (Ref::Matrix(_), None) => unrepeated("matrix", step, read, scene, notes),
        (Ref::Item, Some(_)) => {
            let message = "`item` has no value in a step with `matrix`".to_owned();
            notes.note(mistake(read, message).help("read an axis: `matrix.AXIS`"));
        }
        (_, None) if step.for_each.is_none() => unrepeated("for_each", step, read, scene, notes),
        _ => {}
    }
}

fn axis_exists(
    axis: &str,
    matrix: &Matrix,
    (step, read): (&Step, &Read<'_>),
    scene: &Scene<'_>,
    notes: &mut Notes,
) {
    if !matrix.has(axis) && scene.is_absent(axis) {
        let message = format!(
            "the matrix of step `{}` has no axis `{axis}`",
            step.id.value
        );
        let known = matrix.names().map(Name::as_str);
        notes.misspelt(mistake(read, message), axis, known, "write one of its axes");
    }
}

fn unrepeated(key: &str, step: &Step, read: &Read<'_>, scene: &Scene<'_>, notes: &mut Notes) {
    // Where there are other mistakes, the key may be there and not readable.
    if scene.is_absent(key) {
        let message = format!(
            "`{}` has no value in a step without `{key}`",
            read.what.name
        );
        let mistake = mistake(read, message).also(step.id.span, "the step");
        notes.note(mistake.help(format!("give the step `{key}`")));
    }
}
