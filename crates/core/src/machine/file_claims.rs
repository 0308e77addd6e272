//! The files that tasks declare to change. Two tasks of a run that name the same file take turns, so that neither
//! writes over what the other's checks are about to read (Silas 19.7). Between runs, [locks](crate::machine::TaskLocks) decide.
//!
//! A task claims its files when it gets its turn, before it asks for a lock, and keeps them until it has ended. Only paths
//! without wildcards are claims: a pattern says where files may be, not which. A folder covers everything in it.

use std::collections::BTreeMap;

use crate::machine::scope::TaskScope;
use crate::machine::state::{MachineState, TaskIx};
use wf_model::{Plan, claimed_path};

/// The claimed paths, each with the task that claims it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::machine) struct FileClaims {
    tasks: BTreeMap<String, TaskIx>,
}

impl FileClaims {
    /// True if no other task claims a path, a folder above it, or something in it.
    fn allow(&self, task: TaskIx, path: &str) -> bool {
        let other = |path: &str| self.tasks.get(path).is_some_and(|owner| *owner != task);
        let mut above = path.match_indices('/').map(|(at, _)| path.get(..at).unwrap_or_default());
        let folder = format!("{path}/");
        let mut below =
            self.tasks.range(folder.clone()..).take_while(|(inner, _)| inner.starts_with(&folder));
        !other(path) && !above.any(other) && below.all(|(_, owner)| *owner == task)
    }

    /// True if a task may begin.
    pub(in crate::machine) fn admit(&self, plan: &Plan, state: &MachineState, task: TaskIx) -> bool {
        self.tasks.is_empty() || files(plan, state, task).iter().all(|path| self.allow(task, path))
    }

    /// Claims the files of a task. Where another task has them, it keeps them.
    pub(in crate::machine) fn claim(&mut self, plan: &Plan, state: &MachineState, task: TaskIx) {
        for path in files(plan, state, task) {
            self.tasks.entry(path).or_insert(task);
        }
    }

    /// Gives the files of a task back.
    pub(in crate::machine) fn release(&mut self, task: TaskIx) {
        self.tasks.retain(|_, owner| *owner != task);
    }
}

/// Returns the files that a task declares to change, as paths in the workspace.
pub(in crate::machine) fn files(plan: &Plan, state: &MachineState, task: TaskIx) -> Vec<String> {
    let step = plan.step(task.ix());
    let view = TaskScope { plan, state, task: Some(task) };
    let declared = step.claims().map(|path| path.render(&view).unwrap_or_default());
    declared.filter_map(|path| claimed_path(&path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(step: u32) -> TaskIx {
        TaskIx { step, item: None }
    }

    #[test]
    fn a_file_has_one_owner_and_so_has_its_folder() {
        let mut claims = FileClaims::default();
        for path in ["out/a.txt", "lib"] {
            claims.tasks.insert(path.into(), task(1));
        }
        for path in ["out/a.txt", "out", "lib", "lib/x/y"] {
            assert!(!claims.allow(task(2), path), "{path}");
            assert!(claims.allow(task(1), path), "{path}");
        }
        for path in ["out/a", "out/b.txt", "out/a.txt.old", "library", "o"] {
            assert!(claims.allow(task(2), path), "{path}");
        }
        claims.release(task(1));
        assert_eq!(claims, FileClaims::default());
    }
}
