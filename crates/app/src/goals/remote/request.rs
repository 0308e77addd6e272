//! A reconciliation of a deployed goal a person asks for.

use std::{collections::BTreeSet, time::Duration};

use super::{deployed::OperatedDeployment, deployment::GoalAct, sync::SyncExtent};
use crate::{
    Caller, CliExitCode, CommandError,
    goals::{
        cycle::{ObserverFactory, ReconciliationResult},
        signals::SignalListener,
    },
};
use wf_base::{name::RunId, remedy::UserAction, time::Moment};
use wf_core::goal::{GoalOutcome, ReconciliationCause, SlotState};
use wf_store::StoreReader;

/// The pause between two looks for what came of a request.
const POLL: Duration = Duration::from_secs(1);

/// The number of reconciliations and scheduled times among which those of a request are.
const RECENT: usize = 100;

/// Asks the backend of a deployed goal for a reconciliation now, and records here what came of it; `None`: it is not deployed.
pub fn run_deployed(
    caller: &dyn Caller,
    name: &str,
    observe: ObserverFactory<'_>,
) -> Result<Option<ReconciliationResult>, CommandError> {
    let Some(operated) = OperatedDeployment::find_any(caller, name)? else { return Ok(None) };
    let operated = operated.refreshed()?;
    operated.require_active()?;
    let before = RequestedWork::read(&operated)?;
    let (goal, mut signals) = (operated.goal().clone(), SignalListener::listen()?);
    operated.act(GoalAct::Request)?;
    loop {
        let operated = OperatedDeployment::find(caller, goal.as_str())?;
        let operated = operated.synced(SyncExtent::Present, observe)?;
        if let Some(ended) = RequestedWork::read(&operated)?.since(&before) {
            return ended.map(|outcome| Some(ReconciliationResult { goal, outcome }));
        }
        if signals.exit_requested_within(POLL) {
            let message = format!("{goal} is reconciled on {}, which goes on", operated.backend());
            return Err(CommandError::new(CliExitCode::Interrupted, message)
                .remedy("record what comes of it: ", UserAction::SyncGoal(goal)));
        }
    }
}

/// The outcomes of the latest requests of people for a goal.
struct RequestedWork {
    ended: Vec<(RunId, GoalOutcome)>,
    skipped: Vec<(Moment, String)>,
}

impl RequestedWork {
    fn read(operated: &OperatedDeployment<'_>) -> Result<Self, CommandError> {
        let reader = StoreReader::open(operated.state())?;
        let is_by_person = |cause| cause == ReconciliationCause::Person;
        let cycles = reader
            .reconciliations()
            .latest(operated.goal(), RECENT)?
            .into_iter()
            .filter(|cycle| is_by_person(cycle.cause));
        let ended = cycles.filter_map(|cycle| {
            let (_, health, reason) = cycle.ended?;
            Some((cycle.run, GoalOutcome { health, reason }))
        });
        let slots = reader.slots().latest(operated.goal(), RECENT)?.into_iter();
        let skipped = slots.filter(|row| {
            is_by_person(row.cause) && matches!(row.state, SlotState::Skipped | SlotState::Blocked)
        });
        Ok(Self { ended: ended.collect(), skipped: skipped.map(|row| (row.slot, row.reason)).collect() })
    }

    /// Returns what is new; the error is the reason why nothing was started.
    fn since(self, before: &Self) -> Option<Result<GoalOutcome, CommandError>> {
        let runs: BTreeSet<&RunId> = before.ended.iter().map(|(run, _)| run).collect();
        let slots: BTreeSet<Moment> = before.skipped.iter().map(|(slot, _)| *slot).collect();
        if let Some((_, verdict)) = self.ended.into_iter().find(|(run, _)| !runs.contains(run)) {
            return Some(Ok(verdict));
        }
        let (_, reason) = self.skipped.into_iter().find(|(slot, _)| !slots.contains(slot))?;
        Some(Err(CommandError::new(CliExitCode::Approval, reason)))
    }
}
