use std::borrow::Cow;
use std::convert::Infallible;

use super::{GoalFact, GoalLedger, GoalLedgerState, GoalRecord, InMemoryLedger, SlotDecision};
use wf_base::name::PlanId;
use wf_base::time::Moment;
use wf_model::Goal;

/// A ledger whose decisions are recorded, too.
pub(super) struct RecordingLedger<'a> {
    pub(super) ledger: &'a mut InMemoryLedger,
    pub(super) records: &'a mut Vec<GoalRecord>,
}

impl GoalLedger for RecordingLedger<'_> {
    type Error = Infallible;

    fn known(&self, goal: &PlanId) -> Result<Option<Cow<'_, GoalLedgerState>>, Infallible> {
        self.ledger.known(goal)
    }

    fn record(
        &mut self,
        goal: &Goal,
        after: Option<Moment>,
        decision: &SlotDecision,
        now: Moment,
    ) -> Result<bool, Infallible> {
        let is_recorded = self.ledger.record(goal, after, decision, now)?;
        if is_recorded {
            let fact = GoalFact::Decided { after, decision: decision.clone() };
            self.records.push(GoalRecord { at: now, fact });
        }
        Ok(is_recorded)
    }
}
