//! The processes that steps left running.

use std::collections::BTreeMap;

use super::{LivingProcess, ProcessRoot, all_processes, closure_of, has_adopted, mark_of, roots};

/// Returns all living descendants that belong to no process started here and still running.
pub(super) fn orphaned_descendants() -> Vec<LivingProcess> {
    if !has_adopted() {
        return Vec::new();
    }
    let me = rustix::process::getpid().as_raw_nonzero().get();
    orphaned_among(&all_processes(), &roots(|roots| roots.clone()), me, &mark_of)
}

/// Selects the same from a list of living processes.
pub(super) fn orphaned_among(
    all: &[LivingProcess],
    roots: &BTreeMap<i32, ProcessRoot>,
    me: i32,
    mark: &dyn Fn(i32) -> Option<String>,
) -> Vec<LivingProcess> {
    let below = closure_of(all, |one, below| one.parent == me || below.contains(&one.parent));
    let at_work = closure_of(all, |one, at_work| {
        let is_of = |leader: i32| roots.get(&leader).is_some_and(|root| root.start <= one.start);
        let is_marked = || {
            let mark = mark(one.pid);
            roots.values().any(|root| mark.as_ref() == Some(&root.mark))
        };
        is_of(one.pid)
            || is_of(one.session)
            || at_work.contains(&one.parent)
            || below.contains(&one.pid) && is_marked()
    });
    let over = |one: &&LivingProcess| below.contains(&one.pid) && !at_work.contains(&one.pid);
    all.iter().filter(over).cloned().collect()
}
