//! What is wrong with the file of a gate, read by itself.

use super::Notes;
use super::escalations::{self, Known};
use crate::diag::{Code, Diagnostic};
use crate::spec::Loaded;
use crate::spec::ast::Gate;

/// A gate has the name of its file, and leads to escalations that exist.
pub(super) fn check(loaded: &Loaded, file: usize, gate: &Gate, notes: &mut Notes) {
    let Some(source) = loaded.sources.get(file) else {
        return;
    };
    let name = source.path().rsplit('/').next().unwrap_or_default();
    let stem = name.strip_suffix(".md").unwrap_or(name);
    if gate.id.value.as_str() != stem {
        let message = format!(
            "gate `{}` is in a file of another name, {name}, and is named by that",
            gate.id.value
        );
        let mistake = Diagnostic::new(Code::GateMisnamed, gate.id.span, message);
        notes.note(mistake.help(format!("write `id: {stem}`, or rename the file")));
    }
    escalations::no_circles(&gate.escalation, notes);
    escalations::start_nothing(&gate.escalation, notes);
    if loaded.is_whole(file) {
        let led = escalations::led_to(gate);
        escalations::unused(&gate.escalation, &led, notes);
    }
    // A plan that names it may have what it lacks, and is told if it has not.
    if file == 0 {
        elsewhere(gate, notes);
    }
    escalations::script(gate, source, notes);
}

fn elsewhere(gate: &Gate, notes: &mut Notes) {
    let known = Known::of([&gate.escalation]);
    let fallbacks = gate.escalation.iter();
    let fallbacks = fallbacks.filter_map(|(_, one)| one.fallback.as_ref());
    for name in fallbacks.chain(&gate.on_block) {
        if !known.has(name.value.as_str()) {
            let message = format!(
                "this gate has no escalation `{}`: every plan that names it must have one",
                name.value
            );
            let mistake = Diagnostic::new(Code::EscalationElsewhere, name.span, message);
            let help = "declare it under `escalation` here";
            notes.misspelt(mistake, name.value.as_str(), known.names(), help);
        }
    }
}
