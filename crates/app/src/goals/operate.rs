//! The acts of people on a goal: pausing and resuming it, and asking for a reconciliation now.

use std::sync::Arc;

use super::{
    FileLock, GoalAct, LEADER_LOCK, StoreLedger, ledger_of, load_named_goal,
    remote::deployed::OperatedDeployment, wake_daemon, with_recorded_schedule,
};
use crate::{
    Caller, CliExitCode, CommandError, approve::awaited_acceptance, caller::person_key,
    specs::load::LoadedPlan, watch,
};
use wf_base::{
    name::PlanId,
    remedy::{Remedy, UserAction},
    time::Moment,
};
use wf_core::goal::{GoalLedger as _, ReconciliationCause, paused_until, turn};
use wf_model::Goal;
use wf_store::{Store, StoreReader, feed::WorkspaceAction};

/// A pause, as it was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoalPauseOutcome {
    pub goal: PlanId,
    /// True if it was not paused before.
    pub is_new: bool,
}

/// The end of a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoalResumeOutcome {
    pub goal: PlanId,
    /// False if it was not paused.
    pub was_paused: bool,
    /// The next scheduled time; `None`: there is none, or it was not paused.
    pub next: Option<Moment>,
}

/// A goal with its ledger, opened for writing.
struct OperatedLedger {
    loaded: LoadedPlan,
    goal: Arc<Goal>,
    store: Store,
    reader: StoreReader,
}

impl OperatedLedger {
    /// Opens the ledger of a goal a command names by its id or its file, and a browser by its id.
    fn of(caller: &dyn Caller, name: &str) -> Result<Self, CommandError> {
        let (loaded, goal) = load_named_goal(caller, name)?;
        let (store, reader) = ledger_of(caller.host(), &loaded)?;
        let goal = with_recorded_schedule(&goal, &reader)?;
        Ok(Self { loaded, goal, store, reader })
    }

    fn ledger(&self) -> StoreLedger<'_> {
        StoreLedger { store: &self.store, reader: &self.reader, token: None }
    }
}

/// Pauses a goal; times due meanwhile are skipped.
pub fn pause_goal(caller: &dyn Caller, name: &str, reason: &str) -> Result<GoalPauseOutcome, CommandError> {
    let paused = match OperatedDeployment::find_any(caller, name)? {
        Some(deployed) => {
            let (is_new, goal) = (!deployed.is_paused(), deployed.goal().clone());
            deployed.act(GoalAct::Pause { reason: reason.to_owned() })?;
            GoalPauseOutcome { goal, is_new }
        }
        None => pause_here(caller, name, reason)?,
    };
    if paused.is_new {
        let (goal, key) = (paused.goal.clone(), person_key(caller).map(|key| key.public.id()));
        watch::record_quietly(caller, WorkspaceAction::GoalPaused { goal, key });
    }
    wake_daemon(&caller.host().workspace().state);
    Ok(paused)
}

/// Pauses a goal under its workspace.
fn pause_here(caller: &dyn Caller, name: &str, reason: &str) -> Result<GoalPauseOutcome, CommandError> {
    let open = OperatedLedger::of(caller, name)?;
    let (goal, now) = (open.goal.id.clone(), caller.host().now());
    // Times due before the pause are accounted for as such.
    turn(&open.goal, &mut open.ledger(), now)?;
    let is_new = open.store.goals().pause(&goal, reason, now).wait()?;
    Ok(GoalPauseOutcome { goal, is_new })
}

/// Ends the pause of a goal at its next scheduled time, without catching up.
pub fn resume_goal(caller: &dyn Caller, name: &str) -> Result<GoalResumeOutcome, CommandError> {
    let resumed = match OperatedDeployment::find_any(caller, name)? {
        Some(deployed) => resume_there(caller, deployed.refreshed()?)?,
        None => resume_here(caller, name)?,
    };
    if resumed.was_paused {
        let (goal, key) = (resumed.goal.clone(), person_key(caller).map(|key| key.public.id()));
        watch::record_quietly(caller, WorkspaceAction::GoalResumed { goal, key });
        wake_daemon(&caller.host().workspace().state);
    }
    Ok(resumed)
}

/// Ends the pause of a deployed goal.
fn resume_there(
    caller: &dyn Caller,
    deployed: OperatedDeployment<'_>,
) -> Result<GoalResumeOutcome, CommandError> {
    let (goal, was_paused) = (deployed.goal().clone(), deployed.is_paused());
    if !was_paused {
        return Ok(GoalResumeOutcome { goal, was_paused, next: None });
    }
    deployed.act(GoalAct::Resume)?;
    let ledger_state = StoreReader::open(&caller.host().workspace().state)?.goals().ledger(&goal)?;
    let next = ledger_state.and_then(|state| state.timing?.next(caller.host().now()));
    Ok(GoalResumeOutcome { goal, was_paused, next: next.map(|slot| slot.at) })
}

/// Ends the pause of a goal under its workspace.
fn resume_here(caller: &dyn Caller, name: &str) -> Result<GoalResumeOutcome, CommandError> {
    let open = OperatedLedger::of(caller, name)?;
    let (goal, now) = (open.goal.id.clone(), caller.host().now());
    let mut ledger = open.ledger();
    let decision = loop {
        let ledger_state = ledger.known(&goal)?;
        let Some(known) = ledger_state.filter(|state| state.paused.is_some()) else {
            return Ok(GoalResumeOutcome { goal, was_paused: false, next: None });
        };
        let decision = paused_until(&open.goal, &known, now);
        // A daemon may have decided meanwhile.
        if ledger.record(&open.goal, Some(known.decided_until), &decision, now)? {
            break decision;
        }
    };
    open.store.goals().resume(&goal, now).wait()?;
    let next = open.goal.timing.next(decision.decided_until).map(|slot| slot.at);
    Ok(GoalResumeOutcome { goal, was_paused: true, next })
}

/// Makes a reconciliation of the goal with an id due now, at the request of a browser, for the daemon to start. It is refused where nothing would come of it: without a
/// daemon, in a pause, and while the goal waits for acceptance. That of a deployed goal starts on its backend.
pub fn request_reconciliation(caller: &dyn Caller, id: &str) -> Result<PlanId, CommandError> {
    let refused =
        |message: String, hint: Remedy| Err(CommandError::new(CliExitCode::Usage, message).hint(hint));
    let state = caller.host().workspace().state;
    if let Some(deployed) = OperatedDeployment::find_any(caller, id)? {
        let deployed = deployed.refreshed()?;
        deployed.require_active()?;
        let (goal, slot) = (deployed.goal().clone(), caller.host().now());
        deployed.act(GoalAct::Request)?;
        watch::record_quietly(caller, WorkspaceAction::GoalRequested { goal: goal.clone(), slot });
        return Ok(goal);
    }
    if !FileLock::is_locked(&state, LEADER_LOCK) {
        let message = format!("no daemon runs here that would reconcile {id}");
        return refused(
            message,
            Remedy::from("start one with `")
                .action(UserAction::StartDaemon)
                .text("`, or run it in a terminal: ")
                .action(UserAction::RunGoal(id.to_owned())),
        );
    }
    let open = OperatedLedger::of(caller, id)?;
    let (goal, now) = (open.goal.id.clone(), caller.host().now());
    if let Some(awaited) = awaited_acceptance(caller, &open.loaded)? {
        let remedy = Remedy::from("accept it: ").action(UserAction::AcceptGoal(goal));
        return refused(format!("{} {awaited}", open.goal.path), remedy);
    }
    turn(&open.goal, &mut open.ledger(), now)?;
    if open.reader.goals().ledger(&goal)?.is_some_and(|state| state.paused.is_some()) {
        let message = format!("{goal} is paused");
        return refused(message, Remedy::from("resume it first: ").action(UserAction::ResumeGoal(goal)));
    }
    let due = open.store.slots().backfill(&goal, vec![now], ReconciliationCause::Person, now).wait()?;
    if due > 0 {
        let act = WorkspaceAction::GoalRequested { goal: goal.clone(), slot: now };
        watch::record_quietly(caller, act);
    }
    wake_daemon(&state);
    Ok(goal)
}
