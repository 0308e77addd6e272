use std::time::Duration;

use super::wait::is_manual;
use crate::{
    Caller, CommandError,
    goals::{FileLock, LEADER_LOCK},
    runs::background::{BackgroundStart, start_process},
};
use wf_base::{name::RunId, remedy::UserAction, untrusted::plain};
use wf_store::{RunState, StoreReader};

/// The longest wait for a run to go on.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The course of a run after an answer that suffices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Continuation {
    /// It goes on: a process works on it.
    Resumed,
    /// A daemon goes on with the reconciliation it belongs to.
    Daemon,
    /// A person resumes it: its plan says so.
    Manual,
    /// It was not resumed; the reason.
    Refused(String),
}

impl Continuation {
    /// Returns a sentence about it.
    pub fn text(&self, caller: &dyn Caller, run: &RunId) -> String {
        let short = run.short();
        match self {
            Self::Resumed => format!("run {short} continues"),
            Self::Daemon => format!("run {short} is resumed by the daemon"),
            Self::Manual => {
                let resume = caller.action_words(&UserAction::ResumeRun(run.clone()));
                format!("run {short} waits for `{resume}`: its plan says `resume: manual`")
            }
            Self::Refused(reason) => format!("run {short} is not resumed: {reason}"),
        }
    }
}

/// Resumes a run after an answer that suffices, in a process that outlives this one. Needs a Tokio runtime, and blocks until
/// somebody works on the run.
pub fn resume_in_background(caller: &dyn Caller, run: &RunId) -> Result<Continuation, CommandError> {
    let host = caller.host();
    let state = host.workspace().state;
    let reader = StoreReader::from_whole_log(&state)?;
    if reader.runs().get(run)?.goal.is_some() && FileLock::is_locked(&state, LEADER_LOCK) {
        return Ok(Continuation::Daemon);
    }
    if reader.leases().owner(run)?.is_none_or(|owner| !owner.alive) && is_manual(&reader, run)? {
        return Ok(Continuation::Manual);
    }
    let before = reader.leases().of_run(run)?.len();
    drop(reader);
    let has_gone_on = || -> Result<Option<()>, CommandError> {
        let reader = StoreReader::open(&state)?;
        let is_over = reader.runs().get(run)?.state != RunState::Running;
        Ok((is_over || reader.leases().of_run(run)?.len() > before).then_some(()))
    };
    let command = ["resume", "--if-due", run.as_str()];
    Ok(match start_process(host, &command, MAX_WAIT, &has_gone_on)? {
        BackgroundStart::Begun(()) | BackgroundStart::Late | BackgroundStart::Ended { code: Some(0), .. } => {
            Continuation::Resumed
        }
        BackgroundStart::Ended { printed, .. } => Continuation::Refused(plain(printed.trim())),
    })
}
