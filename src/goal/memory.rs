use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::ops::Bound;

use super::{Decision, Known, Ledger, Live, Open, Row, SlotState, cut_off};
use crate::model::Goal;
use crate::name::{PlanId, RunId};
use crate::time::Moment;

/// A ledger in memory, as simulations keep it. It does what the store does.
#[derive(Clone, Debug, Default)]
pub struct MemoryLedger {
    goals: HashMap<PlanId, Account>,
}

#[derive(Clone, Debug)]
struct Account {
    known: Known,
    rows: BTreeMap<Moment, (Row, Moment)>,
}

impl MemoryLedger {
    /// What is accounted for of a goal, in order, each with when it was decided.
    pub fn rows(&self, goal: &PlanId) -> impl Iterator<Item = (&Row, Moment)> {
        let rows = self.goals.get(goal).into_iter().flat_map(|goal| &goal.rows);
        rows.map(|(_, (row, at))| (row, *at))
    }

    /// Begins a cycle for a slot, if it is due.
    pub fn start(&mut self, goal: &PlanId, slot: Moment, run: RunId) -> bool {
        let Some(account) = self.goals.get_mut(goal) else {
            return false;
        };
        let Some((row, _)) = account.rows.get_mut(&slot) else {
            return false;
        };
        if row.state.is_final() {
            return false;
        }
        row.state = SlotState::Started;
        account.known.open.retain(|open| open.slot != slot);
        let slot = Some(slot);
        account.known.live.push(Live { slot, run });
        let order = |live: &Live| (live.slot, live.run.clone());
        account.known.live.sort_by_key(order);
        account.begun();
        true
    }

    /// Ends a cycle.
    pub fn end(&mut self, goal: &PlanId, run: &RunId) {
        if let Some(account) = self.goals.get_mut(goal) {
            account.known.live.retain(|live| live.run != *run);
        }
    }

    /// Pauses a goal.
    pub fn pause(&mut self, goal: &PlanId, why: &str, now: Moment) {
        if let Some(account) = self.goals.get_mut(goal) {
            account.known.paused.get_or_insert((now, why.to_owned()));
        }
    }

    /// Ends the pause of a goal.
    pub fn resume(&mut self, goal: &PlanId) {
        if let Some(account) = self.goals.get_mut(goal) {
            account.known.paused = None;
        }
    }
}

impl Ledger for MemoryLedger {
    type Error = Infallible;

    fn known(&self, goal: &PlanId) -> Result<Option<Cow<'_, Known>>, Infallible> {
        let account = self.goals.get(goal);
        Ok(account.map(|account| Cow::Borrowed(&account.known)))
    }

    fn record(
        &mut self,
        goal: &Goal,
        after: Option<Moment>,
        decision: &Decision,
        now: Moment,
    ) -> Result<bool, Infallible> {
        let found = self
            .goals
            .get(&goal.id)
            .map(|account| account.known.decided);
        if found != after {
            return Ok(false);
        }
        let fresh = || Account {
            known: Known::first(goal.timing.clone(), now),
            rows: BTreeMap::new(),
        };
        let account = self.goals.entry(goal.id.clone()).or_insert_with(fresh);
        if decision.decided < account.known.decided {
            account.take_back(decision.decided);
        }
        if account.known.timing.as_ref() != Some(&goal.timing) {
            account.known.timing = Some(goal.timing.clone());
        }
        account.known.decided = decision.decided;
        for row in &decision.rows {
            account.put(row, now);
        }
        account.begun();
        Ok(true)
    }
}

impl Account {
    /// Notes which slots have begun though they are not accounted for.
    fn begun(&mut self) {
        let after = (Bound::Excluded(self.known.decided), Bound::Unbounded);
        let rows = self.rows.range(after).map(|(_, (row, _))| row);
        let begun = rows.filter(|row| row.state == SlotState::Started);
        self.known.begun = begun.map(|row| row.slot).collect();
    }

    /// What a clock that ran ahead left out is taken back, as far as it is still to come.
    fn take_back(&mut self, decided: Moment) {
        let is_out = |row: &Row| matches!(row.state, SlotState::Skipped | SlotState::Missed);
        self.rows
            .retain(|slot, (row, _)| *slot <= decided || !is_out(row));
        let Some(timing) = &self.known.timing else {
            return;
        };
        for (row, _) in self.rows.values_mut() {
            if row.count > 1 && row.last > decided {
                (row.last, row.count) = cut_off(timing, row.slot, decided);
            }
        }
    }

    /// What is decided about a slot stays so.
    fn put(&mut self, row: &Row, now: Moment) {
        let before = self.rows.get(&row.slot);
        if before.is_some_and(|(before, _)| before.state.is_final()) {
            return;
        }
        let mut row = row.clone();
        let at = before.map_or(now, |(_, at)| *at);
        if let Some((before, _)) = before {
            row.cause = before.cause;
            if row.why.is_empty() {
                row.why.clone_from(&before.why);
            }
        }
        self.known.open.retain(|open| open.slot != row.slot);
        if !row.state.is_final() {
            let (slot, state, cause) = (row.slot, row.state, row.cause);
            let open = Open {
                slot,
                state,
                cause,
                at,
            };
            let place = self.known.open.partition_point(|other| other.slot < slot);
            self.known.open.insert(place, open);
        }
        self.rows.insert(row.slot, (row, at));
    }
}
