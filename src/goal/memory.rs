use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;

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
    /// The rows in the order of their slots, each with when it was decided. Nearly all are added behind
    /// the last, and a year of many goals has millions.
    rows: Vec<(Row, Moment)>,
}

impl MemoryLedger {
    /// What is accounted for of a goal, in order, each with when it was decided.
    pub fn rows(&self, goal: &PlanId) -> impl Iterator<Item = (&Row, Moment)> {
        let rows = self.goals.get(goal).into_iter().flat_map(|goal| &goal.rows);
        rows.map(|(row, at)| (row, *at))
    }

    /// Begins a cycle for a slot, if it is due.
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
            rows: Vec::new(),
        };
        if found.is_none() {
            self.goals.insert(goal.id.clone(), fresh());
        }
        let Some(account) = self.goals.get_mut(&goal.id) else {
            return Ok(false);
        };
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
    /// Finds the row of a slot, or where it would be.
    fn find(&self, slot: Moment) -> Result<usize, usize> {
        match self.rows.split_last() {
            Some(((last, _), before)) if last.slot == slot => Ok(before.len()),
            Some(((last, _), before)) if last.slot > slot => {
                before.binary_search_by_key(&slot, |(row, _)| row.slot)
            }
            _ => Err(self.rows.len()),
        }
    }

    /// Notes which slots have begun though they are not accounted for: after a clock ran ahead.
    fn begun(&mut self) {
        let decided = self.known.decided;
        self.known.begun.clear();
        let ahead = self.rows.iter().rev().map(|(row, _)| row);
        let ahead = ahead.take_while(|row| row.slot > decided);
        let begun = ahead.filter(|row| row.state == SlotState::Started);
        self.known.begun.extend(begun.map(|row| row.slot));
        self.known.begun.reverse();
    }

    /// What a clock that ran ahead left out is taken back, as far as it is still to come.
    fn take_back(&mut self, decided: Moment) {
        let is_out = |row: &Row| matches!(row.state, SlotState::Skipped | SlotState::Missed);
        self.rows
            .retain(|(row, _)| row.slot <= decided || !is_out(row));
        let Some(timing) = &self.known.timing else {
            return;
        };
        for (row, _) in &mut self.rows {
            if row.count > 1 && row.last > decided {
                (row.last, row.count) = cut_off(timing, row.slot, decided);
            }
        }
    }

    /// What is decided about a slot stays so.
    fn put(&mut self, row: &Row, now: Moment) {
        let place = self.find(row.slot);
        let before = place.ok().and_then(|place| self.rows.get(place));
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
        match place.map(|place| self.rows.get_mut(place)) {
            Ok(Some(before)) => *before = (row, at),
            Ok(None) => self.rows.push((row, at)),
            Err(place) => self.rows.insert(place, (row, at)),
        }
    }
}
