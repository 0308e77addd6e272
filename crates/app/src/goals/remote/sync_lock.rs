//! The lock of whoever deploys a goal, or records here what happens to it on its backend.

use std::path::Path;

use crate::{CliExitCode, CommandError, goals::FileLock};
use wf_base::{
    name::PlanId,
    remedy::{Remedy, UserAction},
};

/// Locks a goal for its deployment, or for what is recorded of it; refused if another process has the lock.
pub(super) fn lock_sync(state: &Path, goal: &PlanId) -> Result<FileLock, CommandError> {
    FileLock::try_lock(state, &lock_name(goal))?.map_err(|_| {
        let message = format!("another process records here what happens to {goal} on its backend");
        CommandError::new(CliExitCode::State, message).hint(
            Remedy::from("see what it has recorded: ")
                .action(UserAction::ListGoals)
                .text(", ")
                .action(UserAction::ShowSomeGoalHistory),
        )
    })
}

/// True if a process has the lock of a goal.
pub(super) fn is_synced(state: &Path, goal: &PlanId) -> bool {
    FileLock::is_locked(state, &lock_name(goal))
}

fn lock_name(goal: &PlanId) -> String {
    format!("{goal}.sync.lock")
}
