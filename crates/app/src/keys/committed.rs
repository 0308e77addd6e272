//! The difference of `approvers.yaml` from its last commit: signatures count for everyone once that has them.

use super::known::approvers_of;
use crate::{APPROVERS, Caller, CommandError, git::GitRepository};
use wf_report::unified_diff;

/// The state of `approvers.yaml` in its repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApproversChange {
    /// The workspace is in no repository, or in one that cannot be read.
    Unknown,
    Committed,
    /// The lines that the last commit does not have, or has and the file not.
    Uncommitted(String),
}

/// Compares the approvers with those of the last commit.
pub fn uncommitted_approvers(caller: &dyn Caller) -> Result<ApproversChange, CommandError> {
    let (_, text) = approvers_of(caller)?;
    let (host, workspace) = (caller.host(), caller.host().workspace());
    let Ok(Some(repository)) = GitRepository::find(&workspace.root, &workspace.state, &host.vars()) else {
        return Ok(ApproversChange::Unknown);
    };
    let name = format!("HEAD:{}", repository.prefix().join(APPROVERS).display());
    let Ok(committed) = repository.objects(&[name]) else {
        return Ok(ApproversChange::Unknown);
    };
    // A file that was never committed is new as a whole.
    let before = committed.0.into_iter().next().flatten().unwrap_or_default();
    let changes = unified_diff(APPROVERS, &String::from_utf8_lossy(&before), &text);
    Ok(if changes.is_empty() { ApproversChange::Committed } else { ApproversChange::Uncommitted(changes) })
}
