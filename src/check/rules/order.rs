use std::collections::BTreeMap;

use super::{Notes, Scene};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;

/// The order that the author of a dag expects is one that `depends_on` allows: every node once,
/// in a layer after those it needs.
pub(super) fn check(scene: &Scene<'_>, notes: &mut Notes) {
    let Some(layers) = &scene.plan.layers else {
        return;
    };
    let mut placed: BTreeMap<usize, (usize, Span)> = BTreeMap::new();
    for (layer, names) in layers.value.iter().enumerate() {
        for name in names {
            let id = name.value.as_str();
            let Some(at) = scene.find(id) else {
                unknown(id, name.span, scene, notes);
                continue;
            };
            if let Some((_, first)) = placed.get(&at) {
                let message = format!("`{id}` stands in the order twice");
                let mistake = Diagnostic::new(Code::OrderWrong, name.span, message);
                notes.note(
                    mistake
                        .also(*first, "the other is here")
                        .help("remove one of them"),
                );
            } else {
                placed.insert(at, (layer, name.span));
            }
        }
    }
    for (at, step) in scene.steps.iter().enumerate() {
        if !placed.contains_key(&at) {
            let message = format!("`{}` is missing from the order", step.id.value);
            let mistake = Diagnostic::new(Code::OrderWrong, layers.span, message);
            notes.note(
                mistake
                    .also(step.id.span, "the node")
                    .help("add it to a layer"),
            );
        }
    }
    after_what_it_needs(scene, &placed, notes);
}

fn unknown(id: &str, span: Span, scene: &Scene<'_>, notes: &mut Notes) {
    if scene.is_absent(id) {
        let message = format!("there is no node `{id}`");
        let mistake = Diagnostic::new(Code::UnknownStep, span, message);
        let ids = scene.steps.iter().map(|step| step.id.value.as_str());
        notes.misspelt(mistake, id, ids, "write the id of a node of this dag");
    }
}

fn after_what_it_needs(
    scene: &Scene<'_>,
    placed: &BTreeMap<usize, (usize, Span)>,
    notes: &mut Notes,
) {
    for (at, (layer, span)) in placed {
        for needed in scene.graph.needs(*at) {
            let Some((below, other)) = placed.get(needed).filter(|_| needed != at) else {
                continue;
            };
            if below >= layer {
                let (id, needed) = (scene.id(*at), scene.id(*needed));
                let message = format!("`{id}` does not come after `{needed}`, which it depends on");
                let mistake = Diagnostic::new(Code::OrderWrong, *span, message);
                let help = format!("put `{id}` into a layer after that of `{needed}`");
                notes.note(mistake.also(*other, "the other is here").help(help));
            }
        }
    }
}
