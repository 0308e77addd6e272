use std::{borrow::Cow, sync::Arc};

use crate::{CommandError, Host, runs::session::open_store, specs::load::LoadedPlan};
use wf_base::{name::PlanId, time::Moment};
use wf_core::goal::{GoalLedger, GoalLedgerState, LedgerEntry, SlotDecision};
use wf_model::Goal;
use wf_store::{LedgerGoal, Store, StoreError, StoreReader, WriteTicket};

/// The store as a ledger.
pub struct StoreLedger<'a> {
    /// The writer.
    pub store: &'a Store,
    pub reader: &'a StoreReader,
    /// The token of a daemon; `None`: the user decides.
    pub token: Option<u64>,
}

impl GoalLedger for StoreLedger<'_> {
    type Error = StoreError;

    fn known(&self, goal: &PlanId) -> Result<Option<Cow<'_, GoalLedgerState>>, StoreError> {
        Ok(self.reader.goals().ledger(goal)?.map(Cow::Owned))
    }

    fn record(
        &mut self,
        goal: &Goal,
        after: Option<Moment>,
        decision: &SlotDecision,
        now: Moment,
    ) -> Result<bool, StoreError> {
        let decision = decision.clone();
        self.send(goal, LedgerEntry { after, decision }, now).wait()
    }
}

impl StoreLedger<'_> {
    /// Sends an entry for a goal; the answer is true if it was written.
    pub fn send(&self, goal: &Goal, entry: LedgerEntry, now: Moment) -> WriteTicket<bool> {
        let LedgerEntry { after, decision } = entry;
        self.store.goals().record_decision(goal_note(goal), after, decision, self.token, now)
    }
}

/// Returns a goal with its schedule in the ledger: only a daemon, which may read goals from a
/// branch, adopts another one.
pub fn with_recorded_schedule(goal: &Arc<Goal>, reader: &StoreReader) -> Result<Arc<Goal>, CommandError> {
    let ledger_state = reader.goals().ledger(&goal.id)?;
    let timing = ledger_state.and_then(|state| state.timing);
    Ok(timing.map_or_else(
        || Arc::clone(goal),
        |timing| {
            let changed_goal = Goal { timing, ..Goal::clone(goal) };
            Arc::new(changed_goal)
        },
    ))
}

/// Opens the ledger of a workspace.
pub fn ledger_of(host: &Host, loaded: &LoadedPlan) -> Result<(Store, StoreReader), CommandError> {
    let store = open_store(host, loaded)?;
    let reader = store.reader()?;
    Ok((store, reader))
}

/// A goal as the ledger names it.
fn goal_note(goal: &Goal) -> LedgerGoal {
    LedgerGoal { id: goal.id.clone(), path: goal.path.clone(), schedule: goal.timing.clone() }
}
