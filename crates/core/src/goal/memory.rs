use std::{borrow::Cow, collections::HashMap, convert::Infallible};

use serde::{Deserialize, Serialize};

use crate::goal::{
    ActiveReconciliation, GoalFact, GoalLedger, GoalLedgerState, GoalRecord, OpenSlot, ReconciliationCause,
    SlotDecision, SlotEntry, SlotState, truncate_at,
};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};
use wf_model::Goal;

/// A ledger in memory, for simulations and for goals on a backend. It behaves like the store.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct InMemoryLedger {
    goals: HashMap<PlanId, GoalAccount>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct GoalAccount {
    #[serde(rename = "known")]
    state: GoalLedgerState,
    /// The rows in the order of their scheduled times, each with the time of its decision. Nearly all
    /// are appended at the end, and a year of many goals has millions.
    rows: Vec<(SlotEntry, Moment)>,
}

impl InMemoryLedger {
    /// Creates a ledger that goes on with the knowledge of another about a goal.
    pub fn of(goal: PlanId, state: GoalLedgerState) -> Self {
        let open = state.open_slots.iter();
        let row = |open: &OpenSlot| (SlotEntry::of(open.slot, open.state, open.cause, ""), open.at);
        let rows = open.map(row).collect();
        Self { goals: HashMap::from([(goal, GoalAccount { state, rows })]) }
    }

    /// Drops the rows no decision needs any more: the final ones up to the time accounted for.
    pub fn drop_settled(&mut self, goal: &PlanId) {
        if let Some(account) = self.goals.get_mut(goal) {
            let decided = account.state.decided_until;
            account.rows.retain(|(row, _)| !row.state.is_final() || row.last > decided);
        }
    }

    /// Returns the rows of a goal, in order, each with the time of its decision.
    pub fn rows(&self, goal: &PlanId) -> impl Iterator<Item = (&SlotEntry, Moment)> {
        let rows = self.goals.get(goal).into_iter().flat_map(|goal| &goal.rows);
        rows.map(|(row, at)| (row, *at))
    }

    /// Starts a reconciliation for a scheduled time, if it is due.
    pub fn start(&mut self, goal: &PlanId, slot: Moment, run: RunId) -> bool {
        let Some(account) = self.goals.get_mut(goal) else {
            return false;
        };
        let found = account.find(slot).ok();
        let Some((row, _)) = found.and_then(|at| account.rows.get_mut(at)) else {
            return false;
        };
        if row.state.is_final() {
            return false;
        }
        row.state = SlotState::Started;
        account.state.open_slots.retain(|open| open.slot != slot);
        let slot = Some(slot);
        account.state.active.push(ActiveReconciliation { slot, run });
        let order = |active: &ActiveReconciliation| (active.slot, active.run.clone());
        account.state.active.sort_by_key(order);
        account.find_unaccounted_starts();
        true
    }

    /// Ends a reconciliation.
    pub fn end(&mut self, goal: &PlanId, run: &RunId) {
        if let Some(account) = self.goals.get_mut(goal) {
            account.state.active.retain(|live| live.run != *run);
        }
    }

    /// Makes a time wait for its reconciliation, unless it was started or waits already; returns false then.
    pub fn queue(&mut self, goal: &PlanId, slot: Moment, cause: ReconciliationCause, now: Moment) -> bool {
        let Some(account) = self.goals.get_mut(goal) else {
            return false;
        };
        let row = SlotEntry::of(slot, SlotState::Queued, cause, "");
        match account.find(slot).map(|at| account.rows.get_mut(at)) {
            Ok(Some((known, at)))
                if matches!(known.state, SlotState::Skipped | SlotState::Missed) && known.count == 1 =>
            {
                (*known, *at) = (row, now);
            }
            Ok(_) => return false,
            Err(place) => account.rows.insert(place, (row, now)),
        }
        let open = OpenSlot { slot, state: SlotState::Queued, cause, at: now };
        let place = account.state.open_slots.partition_point(|other| other.slot < slot);
        account.state.open_slots.insert(place, open);
        true
    }

    /// Pauses a goal.
    pub fn pause(&mut self, goal: &PlanId, reason: &str, now: Moment) {
        if let Some(account) = self.goals.get_mut(goal) {
            account.state.paused.get_or_insert((now, reason.to_owned()));
        }
    }

    /// Ends the pause of a goal.
    pub fn resume(&mut self, goal: &PlanId) {
        if let Some(account) = self.goals.get_mut(goal) {
            account.state.paused = None;
        }
    }
}

impl GoalLedger for InMemoryLedger {
    type Error = Infallible;

    fn known(&self, goal: &PlanId) -> Result<Option<Cow<'_, GoalLedgerState>>, Infallible> {
        let account = self.goals.get(goal);
        Ok(account.map(|account| Cow::Borrowed(&account.state)))
    }

    fn record(
        &mut self,
        goal: &Goal,
        after: Option<Moment>,
        decision: &SlotDecision,
        now: Moment,
    ) -> Result<bool, Infallible> {
        let found = self.goals.get(&goal.id).map(|account| account.state.decided_until);
        if found != after {
            return Ok(false);
        }
        let fresh =
            || GoalAccount { state: GoalLedgerState::first_seen(goal.timing.clone(), now), rows: Vec::new() };
        if found.is_none() {
            self.goals.insert(goal.id.clone(), fresh());
        }
        let Some(account) = self.goals.get_mut(&goal.id) else {
            return Ok(false);
        };
        if decision.decided_until < account.state.decided_until {
            account.remove_future_slots(decision.decided_until);
        }
        if account.state.timing.as_ref() != Some(&goal.timing) {
            account.state.timing = Some(goal.timing.clone());
        }
        account.state.decided_until = decision.decided_until;
        for row in &decision.rows {
            account.record_slot(row, now);
        }
        account.find_unaccounted_starts();
        Ok(true)
    }
}

impl GoalAccount {
    /// Finds the row of a scheduled time, or its insertion point.
    fn find(&self, slot: Moment) -> Result<usize, usize> {
        match self.rows.split_last() {
            Some(((last, _), before)) if last.slot == slot => Ok(before.len()),
            Some(((last, _), before)) if last.slot > slot => {
                before.binary_search_by_key(&slot, |(row, _)| row.slot)
            }
            _ => Err(self.rows.len()),
        }
    }

    /// Finds the started times not accounted for, after a fast clock was corrected.
    fn find_unaccounted_starts(&mut self) {
        let decided = self.state.decided_until;
        self.state.unaccounted_starts.clear();
        let ahead = self.rows.iter().rev().map(|(row, _)| row);
        let ahead = ahead.take_while(|row| row.slot > decided);
        let begun = ahead.filter(|row| row.state == SlotState::Started);
        self.state.unaccounted_starts.extend(begun.map(|row| row.slot));
        self.state.unaccounted_starts.reverse();
    }

    /// Removes skipped and missed times a fast clock recorded and that are still in the future.
    fn remove_future_slots(&mut self, decided: Moment) {
        let is_out = |entry: &SlotEntry| matches!(entry.state, SlotState::Skipped | SlotState::Missed);
        self.rows.retain(|(row, _)| row.slot <= decided || !is_out(row));
        let Some(timing) = &self.state.timing else {
            return;
        };
        for (row, _) in &mut self.rows {
            if row.count > 1 && row.last > decided {
                (row.last, row.count) = truncate_at(timing, row.slot, decided);
            }
        }
    }

    /// Records a decision; a final one about the same time stays.
    fn record_slot(&mut self, entry: &SlotEntry, now: Moment) {
        let place = self.find(entry.slot);
        let before = place.ok().and_then(|place| self.rows.get(place));
        if before.is_some_and(|(before, _)| before.state.is_final()) {
            return;
        }
        let mut row = entry.clone();
        let at = before.map_or(now, |(_, at)| *at);
        if let Some((before, _)) = before {
            row.cause = before.cause;
            if row.reason.is_empty() {
                row.reason.clone_from(&before.reason);
            }
        }
        self.state.open_slots.retain(|open| open.slot != row.slot);
        if !row.state.is_final() {
            let (slot, state, cause) = (row.slot, row.state, row.cause);
            let open = OpenSlot { slot, state, cause, at };
            let place = self.state.open_slots.partition_point(|other| other.slot < slot);
            self.state.open_slots.insert(place, open);
        }
        match place.map(|place| self.rows.get_mut(place)) {
            Ok(Some(before)) => *before = (row, at),
            Ok(None) => self.rows.push((row, at)),
            Err(place) => self.rows.insert(place, (row, at)),
        }
    }
}

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
