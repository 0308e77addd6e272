//! The locks of tasks: a name that steps share, and the files that they declare to change.
//!
//! A task gets all its locks at once or none, before it has begun anything, and holds them until it has ended. So no two
//! tasks wait for each other in a circle, in whatever order they name their files.

use crate::machine::file_claims;
use crate::machine::state::{MachineState, TaskIx};
use crate::machine::words::TaskLocks;
use wf_model::{Plan, StepWork};

impl TaskLocks {
    /// Returns the locks that a task of a plan needs.
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

/// True for work that changes files itself. A step that runs plans does not hold files for them: while it did, a step of its
/// plan could wait for a file of another run, whose plan waits for this one.
fn changes_files(work: &StepWork) -> bool {
    match work {
        StepWork::Run(_) | StepWork::Exec(_) | StepWork::Skill(_) | StepWork::Http(_) => true,
        StepWork::Agent(agent) => agent.dispatch.is_none(),
        StepWork::Uses(_) | StepWork::Generated(_) | StepWork::Wait(_) | StepWork::Approve(_) => false,
    }
}
