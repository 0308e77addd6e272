use super::{RuleContext, gate_file, goal_file, rules, taint};
use crate::{LoadedSpec, decode::DiagnosticList};
use std::collections::BTreeSet;
use wf_base::diag::{Diagnostic, nearest};

/// Checks every loaded file and adds the mistakes to the diagnostics.
pub fn check(loaded: &mut LoadedSpec) {
    let files = 0..loaded.plans.len();
    let mistakes_by_file: Vec<(usize, Diagnostic)> = files
        .flat_map(|file| {
            let mistakes = check_file(loaded, file).into_iter();
            mistakes.map(move |mistake| (file, mistake))
        })
        .collect();
    loaded.diagnostics.extend(mistakes_by_file);
    if !loaded.has_errors() {
        let taint_mistakes = taint::check_taint(loaded);
        loaded.diagnostics.extend(taint_mistakes);
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
        gate_file::check_gate_file(loaded, file, gate, &mut notes);
    }
    if let Some(goal) = loaded.goals.get(&file) {
        goal_file::check_goal_file(loaded, file, goal, &mut notes);
    }
    // A mistake that several alternatives of a step share is reported once.
    let mut reported = BTreeSet::new();
    let mut mistakes = notes.into_diagnostics();
    mistakes
        .retain(|diagnostic| reported.insert((diagnostic.span, diagnostic.code, diagnostic.message.clone())));
    mistakes
}

/// The maximum number of names compared with misspelt ones, over all the mistakes of a file.
const MAX_COMPARISONS: usize = 300_000;

/// The mistakes found in one file.
#[derive(Default)]
pub(super) struct FileDiagnostics {
    diagnostics: DiagnosticList,
    compared: usize,
}

impl FileDiagnostics {
    /// Adds a mistake.
    pub(super) fn note(&mut self, mistake: Diagnostic) {
        self.diagnostics.push(mistake);
    }

    /// Adds a mistake, with the nearest valid name as its remedy, else this help.
    pub(super) fn misspelt<'n>(
        &mut self,
        mistake: Diagnostic,
        word: &str,
        among: impl IntoIterator<Item = &'n str>,
        help: &str,
    ) {
        let mut compared = 0;
        let left = MAX_COMPARISONS.saturating_sub(self.compared);
        let among = among.into_iter().take(left).inspect(|_| compared += 1);
        let near = nearest(word, among);
        self.compared += compared;
        self.note(match near {
            Some(_) => mistake.with_suggestion(near),
            None => mistake.with_help(help),
        });
    }

    pub(super) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics.into_diagnostics()
    }
}
