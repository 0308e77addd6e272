use std::collections::BTreeSet;

use super::{Notes, Scene};
use crate::diag::{Code, Diagnostic};
use crate::spec::Loaded;
use crate::spec::ast::Step;

/// No plan waits for a lock that the step which uses it holds until that plan has ended.
pub(super) fn check(scene: &Scene<'_>, notes: &mut Notes) {
    for step in &scene.steps {
        let Some(lock) = &step.concurrency else {
            continue;
        };
        if let Some(waiter) = waiter(scene.loaded, scene.file, step, lock.value.as_str()) {
            let message = format!("step `{}` would wait for itself", step.id.value);
            let mistake = Diagnostic::new(Code::LockNested, lock.span, message);
            let mistake = mistake.label(format!("held until {waiter} has had it"));
            notes.note(mistake.help("keep the lock in one of the two places"));
        }
    }
}

/// The step, in what a step uses directly or through others, that waits for a lock.
fn waiter(loaded: &Loaded, file: usize, step: &Step, lock: &str) -> Option<String> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<usize> = loaded.used(file, step).into_iter().collect();
    while let Some(file) = open.pop() {
        if !seen.insert(file) {
            continue;
        }
        let Some(Some(plan)) = loaded.plans.get(file) else {
            continue;
        };
        for step in plan.all_steps() {
            if step
                .concurrency
                .as_ref()
                .is_some_and(|own| own.value == lock)
            {
                let path = loaded.sources.get(file).map_or("", |source| source.path());
                return Some(format!("`{}` of {path}", step.id.value));
            }
            open.extend(loaded.used(file, step));
        }
    }
    None
}
