use std::collections::{BTreeMap, BTreeSet};

use super::{Notes, Scene};
use crate::check::escalations::{self, Known};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::spec::ast::{Gate, GateRef};

/// Gates stand where their triggers ask them, have names of their own, and lead to escalations
/// that exist; every escalation of the plan is led to.
pub(super) fn check(scene: &Scene<'_>, notes: &mut Notes) {
    places(scene, notes);
    distinct(scene, notes);
    escalate(scene, notes);
    for gate in inline(scene) {
        escalations::script(gate, scene.source, notes);
    }
}

fn inline<'a>(scene: &Scene<'a>) -> impl Iterator<Item = &'a Gate> {
    scene.plan.all_gates().filter_map(|named| match named {
        GateRef::Inline(gate) => Some(&**gate),
        GateRef::Named(_) => None,
    })
}

/// A gate of a step is not asked about the run.
fn places(scene: &Scene<'_>, notes: &mut Notes) {
    for step in &scene.steps {
        for named in &step.gates {
            let Some((_, gate)) = scene.loaded.gate(scene.file, named) else {
                continue;
            };
            if !gate.on.value.is_of_run() {
                continue;
            }
            let (id, on) = (&gate.id.value, gate.on.value.as_str());
            let at = match named {
                GateRef::Named(id) => id.span,
                GateRef::Inline(gate) => gate.on.span,
            };
            let message =
                format!("gate `{id}` is asked at `{on}`, which is about the run, not a step");
            let mistake = Diagnostic::new(Code::GateMisplaced, at, message);
            notes.note(mistake.help("name it in the `gates` of the plan"));
        }
    }
}

/// Gates that are asked together have names of their own, and so has every gate that stands in
/// the plan itself.
fn distinct(scene: &Scene<'_>, notes: &mut Notes) {
    let system: BTreeSet<&str> = scene
        .loaded
        .system_gates()
        .map(|(_, gate)| gate.id.value.as_str())
        .collect();
    let mut of_plan = BTreeMap::new();
    let mut anywhere: BTreeMap<&str, (bool, Span)> = BTreeMap::new();
    let lists = scene.steps.iter().map(|step| (false, &step.gates));
    for (is_plan, list) in std::iter::once((true, &scene.plan.gates)).chain(lists) {
        let mut here = BTreeMap::new();
        for named in list {
            let id = named.id();
            let (name, own) = (id.value.as_str(), matches!(named, GateRef::Inline(_)));
            let other = anywhere.get(name).filter(|(other, _)| own || *other);
            let known = here
                .get(name)
                .or_else(|| of_plan.get(name))
                .copied()
                .or(other.map(|(_, span)| *span));
            if let Some(first) = known {
                let message = format!("two gates are called `{name}`");
                let mistake = Diagnostic::new(Code::DuplicateId, id.span, message);
                notes.note(mistake.also(first, "the other is here"));
            } else if own && system.contains(name) {
                let message = format!("a gate of the workspace is called `{name}` too");
                let mistake = Diagnostic::new(Code::DuplicateId, id.span, message);
                notes.note(mistake.help("give this one another name"));
            }
            here.entry(name).or_insert(id.span);
            let entry = anywhere.entry(name).or_insert((own, id.span));
            entry.0 |= own;
        }
        if is_plan {
            of_plan = here;
        }
    }
}

/// What gates and escalations lead to exists, goes in no circle, and is all that there is.
fn escalate(scene: &Scene<'_>, notes: &mut Notes) {
    let plan = &scene.plan.escalation;
    let of_plan = Known::of([plan]);
    let mut led = escalations::fallbacks(plan);
    escalations::fallbacks_exist(plan, &of_plan, notes);
    escalations::no_circles(plan, notes);
    escalations::start_nothing(plan, notes);
    for gate in inline(scene) {
        let known = Known::of([&gate.escalation, plan]);
        escalations::block_exists(gate, &known, notes);
        escalations::fallbacks_exist(&gate.escalation, &known, notes);
        escalations::no_circles(&gate.escalation, notes);
        escalations::start_nothing(&gate.escalation, notes);
        escalations::unused(&gate.escalation, &escalations::led_to(gate), notes);
        led.extend(escalations::led_to(gate));
    }
    for named in scene.plan.all_gates() {
        let GateRef::Named(id) = named else { continue };
        let Some((_, gate)) = scene.loaded.gate(scene.file, named) else {
            continue;
        };
        let known = Known::of([&gate.escalation, plan]);
        for name in escalations::led_to(gate) {
            if !known.has(name) && scene.is_absent(name) {
                let message = format!(
                    "gate `{}` leads to `{name}`, and there is no such escalation",
                    id.value
                );
                let mistake = Diagnostic::new(Code::UnknownEscalation, id.span, message);
                let help = "declare it under `escalation` of this plan or of the gate";
                notes.misspelt(mistake, name, known.names(), help);
            }
        }
        led.extend(escalations::led_to(gate));
    }
    for (_, gate) in scene.loaded.system_gates() {
        led.extend(escalations::led_to(gate));
    }
    if !scene.may_hide_uses() {
        escalations::unused(plan, &led, notes);
    }
}
