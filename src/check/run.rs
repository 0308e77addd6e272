use std::collections::BTreeSet;

use super::{Notes, Scene, gate_file, goal_file, rules, taint};
use crate::diag::Diagnostic;
use crate::spec::Loaded;

/// Checks every file that was loaded and adds what is wrong to the diagnostics.
pub fn check(loaded: &mut Loaded) {
    let files = 0..loaded.plans.len();
    let found: Vec<(usize, Diagnostic)> = files
        .flat_map(|file| {
            let mistakes = one(loaded, file).into_iter();
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

fn one(loaded: &Loaded, file: usize) -> Vec<Diagnostic> {
    let mut notes = Notes::default();
    if let Some(scene) = Scene::new(loaded, file) {
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
    // What several ways of a step share is wrong once.
    let mut told = BTreeSet::new();
    let mut mistakes = notes.into_diagnostics();
    mistakes.retain(|one| told.insert((one.span, one.code, one.message.clone())));
    mistakes
}
