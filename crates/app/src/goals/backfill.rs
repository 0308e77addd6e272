use std::sync::Arc;

use super::{
    ReconciliationRequest, ReconciliationResult, StoreLedger, check_not_deployed, ledger_of,
    start_reconciliation, with_recorded_schedule,
};
use crate::{
    Caller, CommandError, Host, goals::cycle::ObserverFactory, keys::author, specs::load::LoadedPlan, watch,
};
use wf_base::time::Moment;
use wf_core::goal::{GoalLedgerState, ReconciliationCause, turn};
use wf_model::Goal;
use wf_store::{StoreReader, feed::WorkspaceAction};

/// Scheduled times of a goal queued to be run again.
pub struct GoalBackfill {
    /// The number of those that had not started, and were not queued before.
    pub due: usize,
    loaded: LoadedPlan,
    goal: Arc<Goal>,
    state: Option<GoalLedgerState>,
}

impl GoalBackfill {
    /// Queues scheduled times of a goal that have not started.
    pub fn queue(
        caller: &dyn Caller,
        loaded: LoadedPlan,
        goal: Arc<Goal>,
        slots: &[Moment],
    ) -> Result<Self, CommandError> {
        let (store, reader) = ledger_of(caller.host(), &loaded)?;
        check_not_deployed(&reader, &goal.id)?;
        let now = caller.host().now();
        let mut ledger = StoreLedger { store: &store, reader: &reader, token: None };
        turn(&*with_recorded_schedule(&goal, &reader)?, &mut ledger, now)?;
        let due =
            store.slots().backfill(&goal.id, slots.to_vec(), ReconciliationCause::Backfill, now).wait()?;
        let state = reader.goals().ledger(&goal.id)?;
        drop((store, reader));
        Ok(Self { due, loaded, goal, state })
    }

    /// Records the request of the person.
    pub fn record(&self, caller: &dyn Caller, slots: &[Moment]) {
        if let (Some(from), Some(to), 1..) = (slots.first(), slots.last(), self.due) {
            let act = WorkspaceAction::GoalBackfilled {
                goal: self.goal.id.clone(),
                from: *from,
                to: *to,
                slots: self.due as u64,
                key: author(caller.host()).map(|key| key.public.id()),
            };
            watch::record_quietly(caller, act);
        }
    }

    /// True if a scheduled time waits to be run again.
    pub fn is_queued(&self, slot: Moment) -> bool {
        let open = self.state.iter().flat_map(|state| &state.open_slots);
        open.into_iter().any(|open| open.slot == slot && open.cause == ReconciliationCause::Backfill)
    }

    /// Runs the reconciliation of a scheduled time here; `None`: another process was faster.
    pub fn run_slot(
        &self,
        caller: &dyn Caller,
        slot: Moment,
        observe: ObserverFactory<'_>,
    ) -> Result<Option<ReconciliationResult>, CommandError> {
        let cause = ReconciliationCause::Backfill;
        let request = ReconciliationRequest { slot: Some(slot), cause, token: None };
        match start_reconciliation(caller, &self.loaded, &self.goal, request, observe) {
            Ok(ended) => Ok(Some(ended)),
            Err(error) if self.is_still_due(caller.host(), slot)? => Err(error),
            Err(_) => Ok(None),
        }
    }

    fn is_still_due(&self, host: &Host, slot: Moment) -> Result<bool, CommandError> {
        let ledger_state = StoreReader::open(&host.workspace().state)?.goals().ledger(&self.goal.id)?;
        Ok(ledger_state.is_some_and(|state| state.open_slots.iter().any(|open| open.slot == slot)))
    }
}
