use std::collections::BTreeSet;

use crate::LoadedSpec;
use crate::ast::StepSpec;
use crate::check::{FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};

/// Checks that no plan waits for a lock that the step using it holds until that plan has ended.
pub(crate) fn check(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for step in &context.steps {
        let Some(lock) = step.concurrency.as_ref().map(|own| &own.0.lock) else {
            continue;
        };
        if let Some(waiter) = waiter(context.loaded, context.file, step, lock.value.as_str()) {
            let message = format!("step `{}` would deadlock with itself", step.id.value);
            let mistake = Diagnostic::new(Code::LockNested, lock.span, message);
            let mistake = mistake.with_label(format!("held here, but needed by {waiter}"));
            diagnostics.note(mistake.with_help("keep the lock in only one of the two places"));
        }
    }
}

/// Returns the step, in a plan that a step uses or may start, directly or indirectly, that waits for a lock.
fn waiter(loaded: &LoadedSpec, file: usize, step: &StepSpec, lock: &str) -> Option<String> {
    let mut seen = BTreeSet::new();
    let used = |file: usize, step: &StepSpec| -> Vec<usize> {
        step.used_paths().filter_map(|path| loaded.file_at(file, path)).collect()
    };
    let mut open = used(file, step);
    while let Some(file) = open.pop() {
        if !seen.insert(file) {
            continue;
        }
        let Some(Some(plan)) = loaded.plans.get(file) else {
            continue;
        };
        for step in plan.all_steps() {
            if step.concurrency.as_ref().is_some_and(|own| own.0.lock.value == lock) {
                let path = loaded.sources.get(file).map_or("", |source| source.path());
                return Some(format!("`{}` of {path}", step.id.value));
            }
            open.extend(used(file, step));
        }
    }
    None
}
