//! The record of a deployed goal: what happened on its backend becomes part of the state of its workspace.

use std::time::Duration;

use super::{
    deployed::DeployedAccount,
    deployment::{DeployedGoal, DeployedRecord, RecordBatch, StartedRun},
};
use crate::{
    Caller, CliExitCode, CommandError,
    goals::{
        cycle::ObserverFactory,
        left::resumable_reconciliations,
        part_run::{follow_recorded, follow_started},
        poke::wake_daemon,
        signals::SignalListener,
    },
};
use wf_base::name::{PlanId, RunId};
use wf_core::goal::{GoalFact, ReconciliationCause};
use wf_store::{ReconciliationClaim, ReconciliationEnd, RunState, StoreReader};

/// The pause between two looks for records.
const POLL: Duration = Duration::from_secs(2);

/// The pause before more records: long enough to hear a signal.
const BREATH: Duration = Duration::from_millis(1);

/// The extent of a synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncExtent {
    /// Everything that is over: it ends before a run that is under way.
    Settled,
    /// All there is; a run under way is followed to its end.
    Present,
    /// All there is, and what comes, until the goal is recalled.
    Future,
}

/// A synchronisation of a deployed goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoalSyncOutcome {
    pub goal: PlanId,
    pub backend: String,
    /// The number of new records.
    pub count: u64,
    pub end: SyncEnd,
}

/// The end of a synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncEnd {
    /// All is recorded as wanted.
    UpToDate,
    /// The deployment is over.
    Recalled,
    /// A signal ended it.
    Interrupted,
}

/// Starts a deployed goal if that is not done yet, and records here what happened to it on its backend.
pub fn sync_goal(
    caller: &dyn Caller,
    name: &str,
    extent: SyncExtent,
    observe: ObserverFactory<'_>,
) -> Result<GoalSyncOutcome, CommandError> {
    DeployedAccount::open(caller, name)?.sync(extent, observe)
}

impl DeployedAccount<'_> {
    /// Records what happened, as far as wanted.
    pub(super) fn sync(
        mut self,
        extent: SyncExtent,
        observe: ObserverFactory<'_>,
    ) -> Result<GoalSyncOutcome, CommandError> {
        let mut signals = SignalListener::listen()?;
        let before = self.deployed.recorded;
        self.start_if_new()?;
        let end = loop {
            let wait = match self.take_new(extent, observe) {
                Ok(BatchEnd::Over) => break SyncEnd::Recalled,
                Ok(BatchEnd::UnderWay) => break SyncEnd::UpToDate,
                Ok(BatchEnd::Nothing) if extent != SyncExtent::Future => break SyncEnd::UpToDate,
                Ok(BatchEnd::Nothing) => POLL,
                Ok(BatchEnd::More) => BREATH,
                // The program may have got the same signal.
                Err(_) if signals.exit_requested() => break SyncEnd::Interrupted,
                Err(error) => return Err(error),
            };
            if signals.exit_requested_within(wait) {
                break SyncEnd::Interrupted;
            }
        };
        let (goal, backend) = (self.goal.clone(), self.deployed.backend.clone());
        Ok(GoalSyncOutcome { goal, backend, count: self.deployed.recorded - before, end })
    }

    /// Records the next records.
    fn take_new(
        &mut self,
        extent: SyncExtent,
        observe: ObserverFactory<'_>,
    ) -> Result<BatchEnd, CommandError> {
        let RecordBatch { records, count } =
            self.backend.records(&self.deployed.workflow, self.deployed.recorded)?;
        self.present.get_or_insert(count);
        for (at, record) in records.iter().enumerate() {
            if self.has_all(extent) {
                break;
            }
            let later = records.get(at + 1..).unwrap_or_default();
            if extent == SyncExtent::Settled && is_under_way(&record.record.fact, later) {
                return Ok(BatchEnd::UnderWay);
            }
            self.take(record, observe)?;
            let is_over = record.record.fact == GoalFact::Recalled;
            self.advance(is_over)?;
            if is_over {
                wake_daemon(&self.workspace.state);
                return Ok(BatchEnd::Over);
            }
        }
        if !records.is_empty() && !self.has_all(extent) {
            return Ok(BatchEnd::More);
        }
        if extent != SyncExtent::Settled {
            self.pass_on_answers(observe)?;
        }
        Ok(BatchEnd::Nothing)
    }

    /// True if what had happened at the first look is recorded, with the ends of what was under way then. A goal checked
    /// more often than its checks can be recorded would have more for ever.
    fn has_all(&self, extent: SyncExtent) -> bool {
        let is_present = self.present.is_some_and(|count| self.deployed.recorded >= count);
        extent != SyncExtent::Future && is_present && self.under_way.is_empty()
    }

    /// Records one record; to do so again changes nothing.
    fn take(&mut self, record: &DeployedRecord, observe: ObserverFactory<'_>) -> Result<(), CommandError> {
        let (at, goal) = (record.record.at, self.goal.clone());
        match &record.record.fact {
            GoalFact::Decided { after, decision } => {
                let (ledger, decision) = (self.ledger.clone(), decision.clone());
                // False if it is known.
                self.store()?.goals().record_decision(ledger, *after, decision, None, at).wait()?;
            }
            GoalFact::Requested { slot } => {
                self.store()?.slots().backfill(&goal, vec![*slot], ReconciliationCause::Person, at).wait()?;
            }
            GoalFact::Started { run, slot, cause, .. } => {
                let claim = ReconciliationClaim::Look {
                    goal,
                    slot: Some(*slot),
                    cause: *cause,
                    token: None,
                    by_backend: true,
                };
                self.under_way.insert(run.clone());
                self.take_run(record, claim, observe)?;
            }
            GoalFact::RepairStarted { look, .. } => {
                let claim = ReconciliationClaim::Repair { cycle: look.clone(), by_backend: true };
                self.take_run(record, claim, observe)?;
            }
            GoalFact::Ended { look, outcome: verdict, pause } => {
                self.take_rest(look, observe)?;
                let (run, outcome, pause) = (look.clone(), verdict.clone(), pause.clone());
                let end = ReconciliationEnd { run, outcome, at, pause, notices: Vec::new() };
                self.store()?.reconciliations().end(end).wait()?;
                self.under_way.remove(look);
            }
            GoalFact::Paused { reason } => drop(self.store()?.goals().pause(&goal, reason, at).wait()?),
            GoalFact::Resumed => drop(self.store()?.goals().resume(&goal, at).wait()?),
            GoalFact::Recalled => {}
        }
        Ok(())
    }

    /// Records a run started there, and follows it to its end, or until it waits for people.
    fn take_run(
        &mut self,
        record: &DeployedRecord,
        claim: ReconciliationClaim,
        observe: ObserverFactory<'_>,
    ) -> Result<(), CommandError> {
        let started: &StartedRun = record.started.as_deref().ok_or_else(|| {
            CommandError::new(
                CliExitCode::State,
                "a record of the backend says of a run only that it was started",
            )
        })?;
        self.close();
        follow_started(self.caller, &self.workspace, started, claim, observe)
    }

    /// Records what is missing of the runs of a reconciliation: one that waited for people may have gone on.
    fn take_rest(&mut self, look: &RunId, observe: ObserverFactory<'_>) -> Result<(), CommandError> {
        self.close();
        let reader = StoreReader::from_log(&self.workspace.state)?;
        let repair = reader.reconciliations().find(look)?.and_then(|cycle| cycle.repair);
        for run in [Some(look), repair.as_ref()].into_iter().flatten() {
            follow_recorded(self.caller, run, observe)?;
        }
        Ok(())
    }

    /// Passes on the answers to the waiting runs.
    fn pass_on_answers(&mut self, observe: ObserverFactory<'_>) -> Result<(), CommandError> {
        self.close();
        let reader = StoreReader::from_log(&self.workspace.state)?;
        let (resumable, _) = resumable_reconciliations(&reader, self.caller.host().now())?;
        for open in resumable {
            let Some(cycle) =
                reader.reconciliations().find(&open.run)?.filter(|cycle| cycle.goal == self.goal)
            else {
                continue;
            };
            let run = cycle.repair.as_ref().unwrap_or(&cycle.run);
            let is_new = self.answers.insert(open.run.clone(), open.answers) != Some(open.answers);
            if is_new && reader.runs().get(run)?.state == RunState::Running {
                follow_recorded(self.caller, run, observe)?;
            }
        }
        Ok(())
    }

    /// Records the arrival of the next record.
    fn advance(&mut self, is_over: bool) -> Result<(), CommandError> {
        self.deployed = DeployedGoal { recorded: self.deployed.recorded + 1, ..self.deployed.clone() };
        let deployment = serde_json::to_value(&self.deployed).ok().filter(|_| !is_over);
        let (goal, now) = (self.goal.clone(), self.caller.host().now());
        self.store()?.goals().record_deployment(&goal, deployment, now).wait()?;
        Ok(())
    }
}

/// The reason why the records of one look end.
enum BatchEnd {
    /// There are none, or none that are wanted.
    Nothing,
    /// There may be more.
    More,
    /// The next one is of a run that is under way.
    UnderWay,
    /// The deployment is over.
    Over,
}

/// True if a fact is the start of a run that has not ended, by the records behind it.
fn is_under_way(fact: &GoalFact, later_records: &[DeployedRecord]) -> bool {
    let of = match fact {
        GoalFact::Started { run, .. } => run,
        GoalFact::RepairStarted { look, .. } => look,
        _ => return false,
    };
    let mut later = later_records.iter().map(|record| &record.record.fact);
    !later.any(|fact| match fact {
        GoalFact::RepairStarted { look, .. } | GoalFact::Ended { look, .. } => look == of,
        _ => false,
    })
}
