//! The acts of a browser on runs. Each is the command of that name in a process of its own, so it decides by the same rules,
//! and what it starts outlives the server. A run starts only where a login alone starts its plan, too.
//!
//! **Invariant:** an act is in the audit log before its process is started.

pub mod several;

use std::time::Duration;

use super::{
    background::{BackgroundStart, refusal, start_in_background, start_process},
    plan_start::require_login_start,
    resume::{CancelledRun, ResumableRun},
    retry::RetryDraft,
};
use crate::{
    Caller, CliExitCode, CommandError,
    goals::FileLock,
    views::{open_requests, state_reader},
    watch,
};
use wf_base::{name::RunId, remedy::UserAction, untrusted::plain};
use wf_store::{RunRow, RunState, StoreReader, feed::WorkspaceAction};

/// The longest wait for a cancelled run to end, and for a resumed one to go on. Either may take longer, and is seen later.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The lock of the acts of browsers in a workspace: two presses of a button are one act and a look at its effect.
pub(super) const ACTS_LOCK: &str = "acts.lock";

/// Cancels a run; returns once it has ended, or its process was told to end it.
pub fn request_cancel(caller: &dyn Caller, run: &RunId) -> Result<(), CommandError> {
    let workspace = caller.host().workspace();
    let _lock = FileLock::lock_blocking(&workspace.state, ACTS_LOCK)?;
    // It says so of a run that has ended.
    let found = CancelledRun::find(&workspace, Some(run.as_str()))?;
    let requested =
        StoreReader::from_whole_log(&workspace.state)?.events().of_kinds(run, &["cancel_requested"])?;
    if matches!(found, CancelledRun::Executed { .. }) && !requested.is_empty() {
        // A second signal would end its processes by force.
        return Ok(());
    }
    watch::record_act(caller, WorkspaceAction::RunCancelRequested { run: run.clone() })?;
    act(caller, &["cancel", run.as_str()], |reader| Ok(reader.runs().get(run)?.state != RunState::Running))
}

/// Resumes a run that no process works on; returns once one does.
pub fn request_resume(caller: &dyn Caller, run: &RunId) -> Result<(), CommandError> {
    let workspace = caller.host().workspace();
    let _lock = FileLock::lock_blocking(&workspace.state, ACTS_LOCK)?;
    let recorded = ResumableRun::find(&workspace, Some(run.as_str()))?;
    if let Some(outcome) = recorded.outcome() {
        return Err(recorded.already_ended(outcome));
    }
    let reader = StoreReader::from_whole_log(&workspace.state)?;
    check_has_work(caller, run, &reader.runs().get(run)?)?;
    let before = reader.leases().of_run(run)?.len();
    watch::record_act(caller, WorkspaceAction::RunResumeRequested { run: run.clone() })?;
    act(caller, &["resume", run.as_str(), "--wait"], |reader| {
        Ok(reader.leases().of_run(run)?.len() > before || reader.runs().get(run)?.state != RunState::Running)
    })
}

/// Fails if all that is left of a run waits for people who have not answered: a process would only wait with it.
fn check_has_work(caller: &dyn Caller, run: &RunId, run_row: &RunRow) -> Result<(), CommandError> {
    let Some(reader) = state_reader(caller)?.filter(|_| run_row.waits_for_people) else {
        return Ok(());
    };
    let now = caller.host().now();
    let requests = open_requests(&reader)?;
    let mut own = requests.iter().filter(|request| request.top == *run);
    if own.all(|request| request.answers == 0 && request.ask.expires > now) {
        let error =
            CommandError::new(CliExitCode::Waiting, format!("run {} waits for an answer", run.short()));
        return Err(error.hint("it goes on once its requests are answered"));
    }
    Ok(())
}

/// Starts a run that repeats what did not succeed in another one, with its parameters and the files as they are now.
/// Returns its id; that of a run that does so already, if it has not ended.
pub fn request_retry(caller: &dyn Caller, run: &RunId) -> Result<RunId, CommandError> {
    request_retry_after(caller, run, usize::MAX)
}

/// Does the same unless the run was retried more often than a person knew: a form that is sent twice starts one run.
pub fn request_retry_after(
    caller: &dyn Caller,
    run: &RunId,
    known_repeats: usize,
) -> Result<RunId, CommandError> {
    let host = caller.host();
    let state = host.workspace().state;
    let _lock = FileLock::lock_blocking(&state, ACTS_LOCK)?;
    let reader = StoreReader::from_whole_log(&state)?;
    let repeats = reader.runs().repeats(run)?;
    if let Some(last) = repeats.last()
        && reader.runs().get(last)?.state == RunState::Running
    {
        return Ok(last.clone());
    }
    let before = repeats.len();
    if let Some(last) = repeats.last().filter(|_| before > known_repeats) {
        let message = format!("run {} was retried meanwhile, as run {}", run.short(), last.short());
        return Err(CommandError::new(CliExitCode::Usage, message).hint("look at that run first"));
    }
    drop(reader);
    let draft = RetryDraft::open(caller, Some(run.as_str()))?;
    require_login_start(caller, &draft.loaded, UserAction::RetryRun(run.clone()))?;
    watch::record_act(caller, WorkspaceAction::RunRetryRequested { run: run.clone() })?;
    let started_run = || Ok(StoreReader::open(&state)?.runs().repeats(run)?.into_iter().nth(before));
    start_in_background(host, &["retry", run.as_str()], &started_run)
}

/// Starts a command, and waits until its effect is seen, or it has ended.
fn act(
    caller: &dyn Caller,
    command: &[&str],
    is_done: impl Fn(&StoreReader) -> Result<bool, CommandError>,
) -> Result<(), CommandError> {
    let host = caller.host();
    let state = host.workspace().state;
    let seen = || Ok(is_done(&StoreReader::open(&state)?)?.then_some(()));
    match start_process(host, command, MAX_WAIT, &seen)? {
        BackgroundStart::Begun(()) | BackgroundStart::Late | BackgroundStart::Ended { code: Some(0), .. } => {
            Ok(())
        }
        BackgroundStart::Ended { printed, .. } => Err(refusal(&plain(&printed))),
    }
}
