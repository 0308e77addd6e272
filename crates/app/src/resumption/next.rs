use super::wait::is_manual;
use crate::{
    Caller, CommandError,
    approve::SigningRules,
    goals::{FileLock, LEADER_LOCK},
};
use wf_base::name::RunId;
use wf_sign::approval::ReviewPolicy;
use wf_store::StoreReader;

/// The one who goes on with a run that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextResume {
    /// The process that works on it.
    Engine,
    /// The daemon of the workspace.
    Daemon,
    /// A person, since its plan says so.
    Person,
    /// The person who answered: by policy `owner` who approves runs it, too.
    Owner,
    /// The person who started it.
    Starter,
}

/// Returns who goes on with an outermost run that was answered. A process that waits for people works on it, too.
pub fn next_resume(caller: &dyn Caller, run: &RunId) -> Result<NextResume, CommandError> {
    let workspace = caller.host().workspace();
    let reader = StoreReader::from_whole_log(&workspace.state)?;
    if reader.owner(run)?.is_some_and(|owner| owner.alive) {
        return Ok(NextResume::Engine);
    }
    if is_manual(&reader, run)? {
        return Ok(NextResume::Person);
    }
    let policy = SigningRules::of(caller, &workspace)?.approvers.policy;
    let is_for_daemon = policy == ReviewPolicy::Reviewed || reader.run(run)?.goal.is_some();
    let has_daemon = FileLock::is_locked(&workspace.state, LEADER_LOCK);
    Ok(match policy {
        _ if has_daemon && (is_for_daemon || !caller.is_interactive()) => NextResume::Daemon,
        ReviewPolicy::Owner => NextResume::Owner,
        ReviewPolicy::Reviewed => NextResume::Starter,
    })
}
