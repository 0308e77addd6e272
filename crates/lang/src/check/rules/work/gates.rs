use std::collections::{BTreeMap, BTreeSet};

use crate::{
    ast::{GateRef, GateSpec},
    check::{
        FileDiagnostics, RuleContext,
        escalations::{self, KnownEscalations},
    },
};
use wf_base::{
    diag::{Code, Diagnostic},
    source::Span,
};
use wf_model::GateTrigger;

/// Checks that gates are where their triggers apply, have unique names, and lead to
/// existing escalations, and every escalation of the plan is used.
pub(crate) fn check_gates(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    places(context, diagnostics);
    distinct(context, diagnostics);
    escalate(context, diagnostics);
    for gate in inline(context) {
        escalations::script(gate, context.source, diagnostics);
    }
}

fn inline<'a>(context: &RuleContext<'a>) -> impl Iterator<Item = &'a GateSpec> {
    context.plan.all_gates().filter_map(|named| match named {
        GateRef::Inline(gate) => Some(&**gate),
        GateRef::Named(_) => None,
    })
}

/// Checks that no gate of a step has a trigger of the run, or of agents where there is none.
fn places(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for step in &context.steps {
        for named in &step.gates {
            let Some((_, gate)) = context.loaded.gate(context.file, named) else {
                continue;
            };
            let (id, on) = (&gate.id.value, gate.on.value.as_str());
            let at = match named {
                GateRef::Named(id) => id.span,
                GateRef::Inline(gate) => gate.on.span,
            };
            if matches!(gate.on.value, GateTrigger::BeforeStep | GateTrigger::OnToolCall)
                && gate.clamp().is_some()
                && step.with_all_alternatives().all(|way| way.exec.is_none())
            {
                let message = format!(
                    "gate `{id}` cannot clamp here: only the words of an `exec` can be rewritten, and this step has none"
                );
                let help = "use `exec` in this step, or clamp the parameter with `on: on_input` in the `gates` of the plan";
                diagnostics.note(Diagnostic::new(Code::ClampForbidden, at, message).with_help(help));
            }
            let (applies, help) = match gate.on.value {
                trigger if trigger.is_of_run() => {
                    ("to the run, not to a step", "move it to the `gates` of the plan")
                }
                trigger
                    if trigger.is_of_agent()
                        && step.with_all_alternatives().all(|way| way.agent.is_none()) =>
                {
                    ("to agents, and this step has none", "move it to a step with `agent`, or to the plan")
                }
                _ => continue,
            };
            let message = format!("gate `{id}` is triggered by `{on}`, which applies {applies}");
            diagnostics.note(Diagnostic::new(Code::GateMisplaced, at, message).with_help(help));
        }
    }
}

/// Checks that the names of gates with the same trigger are unique, and those of all gates inside
/// the plan.
fn distinct(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    let system: BTreeSet<&str> =
        context.loaded.system_gates().map(|(_, gate)| gate.id.value.as_str()).collect();
    let mut of_plan = BTreeMap::new();
    let mut anywhere: BTreeMap<&str, (bool, Span)> = BTreeMap::new();
    let lists = context.steps.iter().map(|step| (false, &step.gates));
    for (is_plan, list) in std::iter::once((true, &context.plan.gates)).chain(lists) {
        let mut here = BTreeMap::new();
        for named in list {
            let id = named.id();
            let (name, own) = (id.value.as_str(), matches!(named, GateRef::Inline(_)));
            let other = anywhere.get(name).filter(|(other, _)| own || *other);
            let location =
                here.get(name).or_else(|| of_plan.get(name)).copied().or(other.map(|(_, span)| *span));
            if let Some(first) = location {
                let message = format!("duplicate gate `{name}`");
                let mistake = Diagnostic::new(Code::DuplicateId, id.span, message);
                diagnostics.note(mistake.with_related(first, "the other one is here"));
            } else if own && system.contains(name) {
                let message = format!("the workspace also has a gate `{name}`");
                let mistake = Diagnostic::new(Code::DuplicateId, id.span, message);
                diagnostics.note(mistake.with_help("rename this one"));
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

/// Checks that escalations exist, have no circles, and are all used.
fn escalate(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    let plan = &context.plan.escalation;
    let of_plan = KnownEscalations::from_maps([plan]);
    let mut led = escalations::fallbacks(plan);
    escalations::fallbacks_exist(plan, &of_plan, diagnostics);
    escalations::no_circles(plan, diagnostics);
    if context.loaded.goals.contains_key(&context.file) {
        let help = "a goal starts a plan by `on_failure: spawn_plan`";
        escalations::start_nothing("a goal", plan, help, diagnostics);
    }
    for gate in inline(context) {
        let known_escalations = KnownEscalations::from_maps([&gate.escalation, plan]);
        escalations::block_exists(gate, &known_escalations, diagnostics);
        escalations::fallbacks_exist(&gate.escalation, &known_escalations, diagnostics);
        escalations::no_circles(&gate.escalation, diagnostics);
        escalations::start_nothing("a gate", &gate.escalation, escalations::OF_PLAN, diagnostics);
        escalations::start_in_time(gate, plan, diagnostics);
        escalations::unused(&gate.escalation, &escalations::led_to(gate), diagnostics);
        led.extend(escalations::led_to(gate));
    }
    for named in context.plan.all_gates() {
        let GateRef::Named(id) = named else { continue };
        let Some((_, gate)) = context.loaded.gate(context.file, named) else {
            continue;
        };
        let escalations = KnownEscalations::from_maps([&gate.escalation, plan]);
        for name in escalations::led_to(gate) {
            if !escalations.has(name) && context.is_absent(name) {
                let message = format!("gate `{}` refers to the unknown escalation `{name}`", id.value);
                let mistake = Diagnostic::new(Code::UnknownEscalation, id.span, message);
                let help = "declare it under `escalation` of this plan or of the gate";
                diagnostics.misspelt(mistake, name, escalations.names(), help);
            }
        }
        escalations::start_in_time(gate, plan, diagnostics);
        led.extend(escalations::led_to(gate));
    }
    for (_, gate) in context.loaded.system_gates() {
        escalations::start_in_time(gate, plan, diagnostics);
        led.extend(escalations::led_to(gate));
    }
    if !context.may_hide_uses() {
        escalations::unused(plan, &led, diagnostics);
    }
}
