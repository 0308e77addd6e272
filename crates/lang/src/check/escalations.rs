//! The escalations of gates: shared by the rules about plans and about gates' files.

use std::collections::BTreeSet;

use super::FileDiagnostics;
use crate::{
    ast::{EscalationSpec, GateSpec},
    decode::OrderedEntries,
    part,
};
use wf_base::{
    diag::{Code, Diagnostic},
    name::Name,
    source::SourceText,
};
use wf_model::{EscalationAction, GateTrigger, expr::templates_in_script};

/// The built-in escalations.
const BUILT_IN: [&str; 2] = ["polite_redirect", "report"];

/// The names of the escalations known at a place.
pub(super) struct KnownEscalations<'a>(BTreeSet<&'a str>);

impl<'a> KnownEscalations<'a> {
    pub(super) fn from_maps(
        maps: impl IntoIterator<Item = &'a OrderedEntries<Name, EscalationSpec>>,
    ) -> Self {
        let declared = maps.into_iter().flat_map(|map| map.iter());
        let names = declared.map(|(name, _)| name.value.as_str());
        Self(names.chain(BUILT_IN).collect())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.0.iter().copied()
    }
}

/// The names the escalations of a map fall back on.
pub(super) fn fallbacks(entries: &OrderedEntries<Name, EscalationSpec>) -> BTreeSet<&str> {
    let fallbacks = entries.iter().filter_map(|(_, escalation)| escalation.fallback.as_ref());
    fallbacks.map(|name| name.value.as_str()).collect()
}

/// The names a gate leads to.
pub(super) fn led_to(gate: &GateSpec) -> BTreeSet<&str> {
    let mut names = fallbacks(&gate.escalation);
    names.extend(gate.on_block.iter().map(|name| name.value.as_str()));
    names
}

pub(super) fn block_exists(
    gate: &GateSpec,
    escalations: &KnownEscalations<'_>,
    diagnostics: &mut FileDiagnostics,
) {
    if let Some(name) = &gate.on_block
        && !escalations.has(name.value.as_str())
    {
        let message = format!("unknown escalation `{}`", name.value);
        let mistake = Diagnostic::new(Code::UnknownEscalation, name.span, message);
        let help = "declare it under `escalation`";
        diagnostics.misspelt(mistake, name.value.as_str(), escalations.names(), help);
    }
}

pub(super) fn fallbacks_exist(
    entries: &OrderedEntries<Name, EscalationSpec>,
    escalations: &KnownEscalations<'_>,
    diagnostics: &mut FileDiagnostics,
) {
    for name in entries.iter().filter_map(|(_, escalation)| escalation.fallback.as_ref()) {
        if !escalations.has(name.value.as_str()) {
            let message = format!("unknown escalation `{}`", name.value);
            let mistake = Diagnostic::new(Code::UnknownEscalation, name.span, message);
            let help = "declare it under `escalation`";
            diagnostics.misspelt(mistake, name.value.as_str(), escalations.names(), help);
        }
    }
}

/// Rejects `spawn_task` in a gate or a goal: approvers see the escalations of a plan (Silas 5.1.1).
pub(super) fn start_nothing(
    owner: &str,
    entries: &OrderedEntries<Name, EscalationSpec>,
    help: &str,
    diagnostics: &mut FileDiagnostics,
) {
    for (name, escalation_spec) in
        entries.iter().filter(|(_, escalation)| escalation.action.value == EscalationAction::SpawnTask)
    {
        // Without a plan it is a mistake already.
        let Some(plan) = &escalation_spec.plan else { continue };
        let message = format!("the escalation `{}` of {owner} cannot start {}", name.value, plan.value);
        diagnostics.note(
            Diagnostic::new(Code::TaskNotStarted, escalation_spec.action.span, message).with_help(help),
        );
    }
}

/// The advice for a gate with `spawn_task`.
pub(super) const OF_PLAN: &str =
    "write it under `escalation` of the plan, and name it in `on_block` of the gate";

/// Rejects `spawn_task` for a gate before the run begins.
pub(super) fn start_in_time(
    gate: &GateSpec,
    entries_of_plan: &OrderedEntries<Name, EscalationSpec>,
    diagnostics: &mut FileDiagnostics,
) {
    if !matches!(gate.on.value, GateTrigger::BeforeRun | GateTrigger::OnInput) {
        return;
    }
    let mut next = gate.on_block.as_ref();
    let mut names = BTreeSet::new();
    while let Some(name) = next.filter(|name| names.insert(name.value.as_str())) {
        let mut declared = gate.escalation.iter().chain(entries_of_plan.iter());
        let Some((_, one)) = declared.find(|(other, _)| other.value == name.value) else { return };
        if one.action.value == EscalationAction::SpawnTask {
            let message = format!(
                "gate `{}` blocks before the run begins, and `{}` starts its plan at the end of a run",
                gate.id.value, name.value
            );
            let mistake = Diagnostic::new(Code::TaskNotStarted, one.action.span, message);
            diagnostics.note(mistake.with_help("give that gate an escalation with `action: report`"));
        }
        next = one.fallback.as_ref();
    }
}

/// Notes each circle of fallbacks once, at its first closing fallback.
pub(super) fn no_circles(entries: &OrderedEntries<Name, EscalationSpec>, diagnostics: &mut FileDiagnostics) {
    let next = |name: &str| {
        let (_, escalation) = entries.iter().find(|(other, _)| other.value.as_str() == name)?;
        escalation.fallback.as_ref()
    };
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for (start, _) in entries.iter() {
        let mut path = vec![start.value.as_str()];
        while let Some(to) = path.last().and_then(|last| next(last)) {
            let name = to.value.as_str();
            if done.contains(name) {
                break;
            }
            if let Some(at) = path.iter().position(|earlier| *earlier == name) {
                let circle = path.get(at..).unwrap_or_default();
                let names: Vec<_> = circle.iter().chain([&name]).map(|step| format!("`{step}`")).collect();
                let message = format!("escalations fall back on each other in a cycle: {}", names.join(", "));
                diagnostics.note(Diagnostic::new(Code::EscalationCycle, to.span, message));
                break;
            }
            path.push(name);
        }
        done.extend(path);
    }
}

/// Notes the unreachable escalations.
pub(super) fn unused(
    entries: &OrderedEntries<Name, EscalationSpec>,
    led: &BTreeSet<&str>,
    diagnostics: &mut FileDiagnostics,
) {
    for (name, _) in entries.iter() {
        if !led.contains(name.value.as_str()) {
            let message = format!("the escalation `{}` is never used", name.value);
            let mistake = Diagnostic::new(Code::UnusedEscalation, name.span, message);
            diagnostics.note(mistake.with_help("use it as the `on_block` of a gate, or remove it"));
        }
    }
}

/// Text never becomes code: the script of a gate contains no template.
pub(super) fn script(gate: &GateSpec, source: &SourceText, diagnostics: &mut FileDiagnostics) {
    let Some(script) = &gate.run else { return };
    for (at, _) in templates_in_script(&script.value) {
        let span = part(source, script, at);
        let message = "templates are not expanded in scripts (injection risk)";
        let mistake = Diagnostic::new(Code::TemplateInScript, span, message);
        diagnostics.note(mistake.with_help(
            "read \"$WF_GATE_VALUE\" or \"$WF_GATE_CONTEXT\", or a parameter from \
             \"$WF_PARAM_NAME\"",
        ));
    }
}
