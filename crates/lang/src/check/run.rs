use std::collections::BTreeSet;

use super::{FileDiagnostics, RuleContext, gate_file, goal_file, rules, taint};
use crate::LoadedSpec;
use wf_base::diag::Diagnostic;

/// Checks every loaded file and adds the mistakes to the diagnostics.
pub fn check(loaded: &mut LoadedSpec) {
    let files = 0..loaded.plans.len();
    let found: Vec<(usize, Diagnostic)> = files
        .flat_map(|file| {
            let mistakes = check_file(loaded, file).into_iter();
            mistakes.map(move |mistake| (file, mistake))
        })
        .collect();
    loaded.diagnostics.extend(found);
    if !loaded.has_errors() {
        let found = taint::check(loaded);
        loaded.diagnostics.extend(found);
    }
    loaded.sort();
}

fn check_file(loaded: &LoadedSpec, file: usize) -> Vec<Diagnostic> {
    let mut notes = FileDiagnostics::default();
    if let Some(scene) = RuleContext::new(loaded, file) {
        for rule in rules::ALL {
            rule(&scene, &mut notes);
        }
    }
    if let Some(gate) = loaded.gates.get(&file) {
        gate_file::check(loaded, file, gate, &mut notes);
    }
    if let Some(goal) = loaded.goals.get(&file) {
        goal_file::check(loaded, file, goal, &mut notes);
    }
    // A mistake that several alternatives of a step share is reported once.
    let mut seen = BTreeSet::new();
    let mut mistakes = notes.into_diagnostics();
    mistakes.retain(|one| seen.insert((one.span, one.code, one.message.clone())));
    mistakes
}
