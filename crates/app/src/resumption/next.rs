use super::wait::is_manual;
use crate::{
    Caller, CommandError,
    approve::SigningRules,
    goals::{FileLock, LEADER_LOCK},
};
use wf_base::name::RunId;
use wf_sign::approval::ReviewPolicy;
use wf_store::StoreReader;

/// The process or person to resume an answered run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextResume {
    /// The process working on it.
    Engine,
    /// The daemon of the workspace.
    Daemon,
    /// A person, since its plan says so.
    Person,
    /// The answering person: by policy `owner` approving runs it, too.
    Owner,
    /// The person who started it.
    Starter,
}

/// Returns the one to resume an answered outermost run. A process waiting for people works on it, too.
pub fn next_resume(caller: &dyn Caller, run: &RunId) -> Result<NextResume, CommandError> {
    let workspace = caller.host().workspace();
    let reader = StoreReader::from_whole_log(&workspace.state)?;
    if reader.leases().owner(run)?.is_some_and(|owner| owner.alive) {
        return Ok(NextResume::Engine);
    }
    if is_manual(&reader, run)? {
        return Ok(NextResume::Person);
    }
    let policy = SigningRules::of(caller, &workspace)?.approvers.policy;
    let is_for_daemon = policy == ReviewPolicy::Reviewed || reader.runs().get(run)?.goal.is_some();
    let has_daemon = FileLock::is_locked(&workspace.state, LEADER_LOCK);
    Ok(match policy {
        _ if has_daemon && (is_for_daemon || !caller.is_interactive()) => NextResume::Daemon,
        ReviewPolicy::Owner => NextResume::Owner,
        ReviewPolicy::Reviewed => NextResume::Starter,
    })
}
