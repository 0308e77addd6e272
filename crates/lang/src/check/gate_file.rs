//! The mistakes in the file of a gate, read by itself.

use super::{
    FileDiagnostics,
    escalations::{self, KnownEscalations},
};
use crate::{LoadedSpec, ast::GateSpec};
use wf_base::diag::{Code, Diagnostic};

/// Checks that a gate has the name of its file, and leads to existing escalations.
pub(super) fn check_gate_file(
    loaded: &LoadedSpec,
    file: usize,
    gate: &GateSpec,
    diagnostics: &mut FileDiagnostics,
) {
    let Some(source) = loaded.sources.get(file) else {
        return;
    };
    let name = source.path().rsplit('/').next().unwrap_or_default();
    let stem = name.strip_suffix(".md").unwrap_or(name);
    if gate.id.value.as_str() != stem {
        let message = format!(
            "the id of gate `{}` does not match its file name, {name}, by which it is referenced",
            gate.id.value
        );
        let mistake = Diagnostic::new(Code::GateMisnamed, gate.id.span, message);
        diagnostics.note(mistake.with_help(format!("write `id: {stem}`, or rename the file")));
    }
    escalations::no_circles(&gate.escalation, diagnostics);
    escalations::start_nothing("a gate", &gate.escalation, escalations::OF_PLAN, diagnostics);
    if loaded.is_whole(file) {
        let led = escalations::led_to(gate);
        escalations::unused(&gate.escalation, &led, diagnostics);
    }
    // A plan that names the gate may have the escalation; its own check reports it if not.
    if file == 0 {
        elsewhere(gate, diagnostics);
    }
    escalations::script(gate, source, diagnostics);
}

fn elsewhere(gate: &GateSpec, diagnostics: &mut FileDiagnostics) {
    let escalations = KnownEscalations::from_maps([&gate.escalation]);
    let fallbacks = gate.escalation.iter();
    let fallbacks = fallbacks.filter_map(|(_, escalation)| escalation.fallback.as_ref());
    for name in fallbacks.chain(&gate.on_block) {
        if !escalations.has(name.value.as_str()) {
            let message = format!(
                "this gate does not declare escalation `{}`: every plan that uses it would have to",
                name.value
            );
            let mistake = Diagnostic::new(Code::EscalationElsewhere, name.span, message);
            let help = "declare it under `escalation` here";
            diagnostics.misspelt(mistake, name.value.as_str(), escalations.names(), help);
        }
    }
}
