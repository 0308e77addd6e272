//! A run resumed where it was left, and one concluded since nobody works on it.

use super::{
    backend::{RecordedBackendRun, is_of_deployment},
    given::{approval_of_run, secrets_of_run},
    lineage::{outermost_run, retried_run},
    outdated::warn_of_changed_results,
};
use crate::{
    Caller, CliExitCode, CommandError, StateReader, Workspace,
    approve::reauthorize,
    names::attempt_name_from_text,
    specs::load::{LoadedPlan, load_recorded},
};
use std::time::Duration;
use wf_base::{name::RunId, remedy::UserAction};
use wf_core::machine::{RunApproval, RunOutcome};
use wf_engine::{EngineError, GivenSecrets, reuse::RepeatedRun};
use wf_report::goal_name;
use wf_store::{RunLease, RunRow, RunState, StateFolder, StoreError, StoreReader};

/// The pause between two looks whether a run was left, and their number.
const LEAVE_POLL: Duration = Duration::from_millis(50);
const LEAVE_POLLS: usize = 200;

/// A recorded run to resume.
pub struct ResumableRun {
    pub run: RunId,
    state: StateReader,
    row: RunRow,
}

/// The needs of a run from its record, to go on.
pub struct RunContinuation {
    /// The results it reuses of the run it repeats.
    pub repeated_run: Option<RepeatedRun>,
    /// The secrets it was given.
    pub secrets: GivenSecrets,
    /// The approval it started with.
    pub approval: Option<RunApproval>,
    /// The run on its backend, if it has one.
    pub backend_run: Option<RecordedBackendRun>,
}

impl ResumableRun {
    /// Finds a run by the start of its id, the latest one without it.
    pub fn find(workspace: &Workspace, prefix: Option<&str>) -> Result<Self, CommandError> {
        let state = StateReader::from_whole_log(workspace)?;
        let run = state.find_run(prefix)?;
        let row = state.store().runs().get(&run)?;
        Ok(Self { run, state, row })
    }

    /// Refuses a run nested in another: the outer one is resumed.
    pub fn require_outermost(&self) -> Result<(), CommandError> {
        let Some((above, attempt)) = &self.row.parent else {
            return Ok(());
        };
        let reader = self.state.store();
        let attempt = attempt_name_from_text(reader, above, attempt)?;
        let message = format!("run {} is nested in another run: {attempt}", self.run.short());
        let error = CommandError::new(CliExitCode::Usage, message);
        let top = outermost_run(reader, &self.run)?;
        Err(error.remedy("resume that one: ", UserAction::ResumeRun(top)))
    }

    /// Returns its outcome; `None`: it has not ended.
    pub fn outcome(&self) -> Option<RunOutcome> {
        match self.row.state {
            RunState::Ended(outcome) => Some(outcome),
            RunState::Running => None,
        }
    }

    /// Returns the failure for a run that has ended: what to do instead.
    pub fn already_ended(&self, outcome: RunOutcome) -> CommandError {
        let (run, row) = (&self.run, &self.row);
        let message = format!("run {} has already finished: {}", run.short(), outcome.as_str());
        let error = CommandError::new(CliExitCode::Usage, message);
        match (&row.goal, outcome) {
            (Some(_), _) => {
                let action = UserAction::RunGoal(goal_name(&row.plan, &row.path));
                error.remedy("for another reconciliation: ", action)
            }
            (None, RunOutcome::Succeeded) => error,
            (None, _) => {
                error.remedy("to run again what did not succeed: ", UserAction::RetryRun(run.clone()))
            }
        }
    }

    /// Loads the plan that it was recorded with.
    pub fn load(&self, caller: &dyn Caller) -> Result<LoadedPlan, CommandError> {
        load_recorded(caller, self.state.store(), &self.run)
    }

    /// Checks that it may go on, and reads what it needs for that.
    pub fn resume(self, caller: &dyn Caller, loaded: &LoadedPlan) -> Result<RunContinuation, CommandError> {
        let (reader, run) = (self.state.store(), &self.run);
        let repeated_run = retried_run(reader, &self.row, &loaded.plan)?;
        reauthorize(caller, reader, run, loaded)?;
        let continuation = self.read(caller, loaded, repeated_run)?;
        if continuation.backend_run.is_none() {
            warn_of_changed_results(caller, reader, run, loaded)?;
        }
        Ok(continuation)
    }

    /// Reads what it needs to be concluded as cancelled.
    pub fn cancel(self, caller: &dyn Caller, loaded: &LoadedPlan) -> Result<RunContinuation, CommandError> {
        self.read(caller, loaded, None)
    }

    fn read(
        &self,
        caller: &dyn Caller,
        loaded: &LoadedPlan,
        repeated_run: Option<RepeatedRun>,
    ) -> Result<RunContinuation, CommandError> {
        let (reader, run) = (self.state.store(), &self.run);
        let secrets = secrets_of_run(reader, run, &loaded.plan)?;
        let approval = approval_of_run(reader, run)?;
        let backend_run = RecordedBackendRun::read(caller.host(), reader, run, loaded)?;
        Ok(RunContinuation { repeated_run, secrets, approval, backend_run })
    }
}

/// Brings to its end what an engine that died just after the end of a run had not brought there.
pub fn tidy_ended_runs(workspace: &Workspace) -> Result<(), CommandError> {
    Ok(wf_engine::tidy(&StateFolder::new(&workspace.state))?)
}

/// Returns the process working on a run, in words, if that is why it was not resumed.
pub fn owner_of_refused<T>(finished: &Result<T, EngineError>) -> Option<String> {
    match finished {
        Err(EngineError::Store(StoreError::Owned { lease, .. })) => Some(lease.to_string()),
        _ => None,
    }
}

/// A run cancelled by a person, and its concluder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CancelledRun {
    /// The process executing it, at a signal.
    Executed { run: RunId, pid: u32 },
    /// The caller, once the process following the run on its backend has left it at a signal.
    Followed { run: RunId, pid: u32 },
    /// The caller: nobody works on it.
    Idle(RunId),
}

impl CancelledRun {
    /// Finds the run whose id begins with a prefix, or the latest one. One nested in another ends with that alone, so it is
    /// refused.
    pub fn find(workspace: &Workspace, prefix: Option<&str>) -> Result<Self, CommandError> {
        let state = StateReader::from_log(workspace)?;
        let reader = state.store();
        let run = state.find_run(prefix)?;
        let row = reader.runs().get(&run)?;
        if let Some((above, attempt)) = &row.parent {
            let attempt = attempt_name_from_text(reader, above, attempt)?;
            let message = format!("run {} is nested in another run: {attempt}", run.short());
            let top = outermost_run(reader, &run)?;
            let error = CommandError::new(CliExitCode::Usage, message);
            return Err(error.remedy("cancel that one: ", UserAction::CancelRun(top)));
        }
        if let RunState::Ended(outcome) = row.state {
            let message = format!("run {} has already finished: {}", run.short(), outcome.as_str());
            return Err(CommandError::new(CliExitCode::Usage, message));
        }
        let is_followed = is_of_deployment(&reader.runs().config(&run)?);
        match live_lease(reader, &run)? {
            // Its process id is from elsewhere, and may be that of any process here.
            Some(lease) if !lease.is_local => {
                let message = format!("run {} is executed by {lease}", run.short());
                Err(CommandError::new(CliExitCode::Usage, message)
                    .hint("cancel it there, or after that process has exited"))
            }
            Some(RunLease { pid, .. }) if is_followed => Ok(Self::Followed { run, pid }),
            Some(RunLease { pid, .. }) => Ok(Self::Executed { run, pid }),
            None => Ok(Self::Idle(run)),
        }
    }
}

fn live_lease(reader: &StoreReader, run: &RunId) -> Result<Option<RunLease>, CommandError> {
    Ok(reader.leases().of_run(run)?.pop().filter(|lease| !lease.may_be_taken))
}

/// Waits until the process following a run of a deployed goal has left it at a signal.
pub fn await_leave(workspace: &Workspace, run: &RunId) -> Result<(), CommandError> {
    let state = StateReader::open(workspace)?;
    for _ in 0..LEAVE_POLLS {
        if live_lease(state.store(), run)?.is_none() {
            return Ok(());
        }
        std::thread::sleep(LEAVE_POLL);
    }
    let message = format!("run {} is still followed by the process that was asked to leave it", run.short());
    Err(CommandError::new(CliExitCode::State, message).hint("try again"))
}
