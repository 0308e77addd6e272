//! The files claimed by tasks, and the locks of the files. Two tasks of a run with the same file
//! take turns: neither writes over the files of the other's checks (Silas 19.7). Between runs, [locks](crate::machine::TaskLocks) decide.

use std::collections::BTreeMap;

use crate::machine::{
    state::{MachineState, TaskIx, file_claims, scope::TaskScope},
    words::TaskLocks,
};
use wf_model::{Plan, StepWork, claimed_path};

/// The claimed paths, each with its task.
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

/// Returns the files declared to be changed by a task, as paths in the workspace.
pub(in crate::machine) fn files(plan: &Plan, state: &MachineState, task: TaskIx) -> Vec<String> {
    let step = plan.step(task.ix());
    let view = TaskScope { plan, state, task: Some(task) };
    let declared = step.claims().map(|path| path.render(&view).unwrap_or_default());
    declared.filter_map(|path| claimed_path(&path)).collect()
}

impl TaskLocks {
    /// Returns the locks of a task of a plan.
    pub(in crate::machine) fn of(plan: &Plan, state: &MachineState, task: TaskIx) -> Self {
        let step = plan.step(task.ix());
        let mut files =
            if changes_files(&step.work) { file_claims::files(plan, state, task) } else { Vec::new() };
        files.sort();
        files.dedup();
        let lock = step.concurrency.as_ref();
        Self {
            lock: lock.map(|lock| lock.name.clone()),
            when_busy: lock.map(|lock| lock.when_busy).unwrap_or_default(),
            files,
        }
    }
}

/// True for work with changes of files itself. A step around plans holds no files for them: while it did, a step of its
/// plan could wait for a file of another run, and that run's plan for this one.
fn changes_files(work: &StepWork) -> bool {
    match work {
        StepWork::Run(_) | StepWork::Exec(_) | StepWork::Skill(_) | StepWork::Http(_) => true,
        StepWork::Agent(agent) => agent.dispatch.is_none(),
        StepWork::Uses(_) | StepWork::Generated(_) | StepWork::Wait(_) | StepWork::Approve(_) => false,
    }
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
