//! What steps left running.

use std::collections::{BTreeMap, BTreeSet};

use super::{Living, Root, all, has_adopted, mark_of, roots};

/// Everything that lives below this process and belongs to nothing that it started and that has not ended.
pub(super) fn left() -> Vec<Living> {
    if !has_adopted() {
        return Vec::new();
    }
    let me = rustix::process::getpid().as_raw_nonzero().get();
    left_among(&all(), &roots(|roots| roots.clone()), me, &mark_of)
}

/// The same, as a function of what lives.
pub(super) fn left_among(
    all: &[Living],
    roots: &BTreeMap<i32, Root>,
    me: i32,
    mark: &dyn Fn(i32) -> Option<String>,
) -> Vec<Living> {
    let below = closed(all, |one, below| {
        one.parent == me || below.contains(&one.parent)
    });
    let at_work = closed(all, |one, at_work| {
        let is_of = |leader: i32| {
            roots
                .get(&leader)
                .is_some_and(|root| root.start <= one.start)
        };
        let is_marked = || {
            let mark = mark(one.pid);
            roots.values().any(|root| mark.as_ref() == Some(&root.mark))
        };
        is_of(one.pid)
            || is_of(one.session)
            || at_work.contains(&one.parent)
            || below.contains(&one.pid) && is_marked()
    });
    let over = |one: &&Living| below.contains(&one.pid) && !at_work.contains(&one.pid);
    all.iter().filter(over).cloned().collect()
}

/// The processes that belong to a set, as far as it follows from those that belong to it already.
fn closed(all: &[Living], belongs: impl Fn(&Living, &BTreeSet<i32>) -> bool) -> BTreeSet<i32> {
    let mut inside = BTreeSet::new();
    loop {
        let before = inside.len();
        for one in all {
            if !inside.contains(&one.pid) && belongs(one, &inside) {
                inside.insert(one.pid);
            }
        }
        if inside.len() == before {
            return inside;
        }
    }
}
