use std::borrow::Cow;

use super::{GoalLedgerState, OpenSlot, ReconciliationCause, SlotDecision, SlotState, decide, rescheduled};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};
use wf_model::{Goal, GoalOverlapPolicy};

/// A ledger of scheduled times: the store, or a simulation's memory.
pub trait GoalLedger {
    /// The error of reading or writing it.
    type Error;

    /// Returns the knowledge of a goal; `None` if it was never considered.
    fn known(&self, goal: &PlanId) -> Result<Option<Cow<'_, GoalLedgerState>>, Self::Error>;

    /// Records a decision, atomically, if scheduled times are accounted for up to `after`; if not,
    /// another decision was recorded meanwhile, and the result is false.
    fn record(
        &mut self,
        goal: &Goal,
        after: Option<Moment>,
        decision: &SlotDecision,
        now: Moment,
    ) -> Result<bool, Self::Error>;
}

/// The actions due for a goal now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueActions {
    /// The scheduled times for which reconciliations are to start, in order; none is in the future.
    pub start: Vec<(Moment, ReconciliationCause)>,
    /// The reconciliations to cancel, by their first runs; repeated until they have ended.
    pub cancel: Vec<RunId>,
    /// The next scheduled start; `None`: never.
    pub wake: Option<Moment>,
    /// The number of missed scheduled times.
    pub missed: u64,
    /// True if other scheduled times are still to start: their decisions may change at any time, so
    /// the goal is considered at every wake-up.
    pub is_open: bool,
}

/// The maximum number of attempts at a decision when others are recorded meanwhile.
const TRIES: usize = 5;

/// Considers a goal: accounts for its scheduled times, and returns the actions due.
pub fn turn<L: GoalLedger>(goal: &Goal, ledger: &mut L, now: Moment) -> Result<DueActions, L::Error> {
    let mut looking = LedgerTurn::new(goal, now);
    while !looking.is_over() {
        let entry = looking.decide(ledger.known(&goal.id)?.as_deref());
        if let Some(LedgerEntry { after, decision }) = entry {
            let written = ledger.record(goal, after, &decision, now)?;
            looking.on_recorded(written);
        }
    }
    Ok(looking.into_turn())
}

/// An entry for the ledger of a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// The time up to which the basis of the decision was accounted for.
    pub after: Option<Moment>,
    pub decision: SlotDecision,
}

/// A turn without blocking: the owner of the ledger passes in its knowledge, records the decisions,
/// and reports if that succeeded.
#[derive(Debug)]
pub struct LedgerTurn<'g> {
    goal: &'g Goal,
    now: Moment,
    tries: usize,
    due: DueActions,
    /// The turn to return once the decision is recorded.
    next: Option<(u64, Option<DueActions>)>,
    is_over: bool,
}

impl<'g> LedgerTurn<'g> {
    /// Starts a turn of a goal.
    pub fn new(goal: &'g Goal, now: Moment) -> Self {
        Self { goal, now, tries: 0, due: DueActions::default(), next: None, is_over: false }
    }

    /// True if everything is decided and recorded.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Decides from the given knowledge, and returns the entry to record, if there is one.
    pub fn decide(&mut self, account_state: Option<&GoalLedgerState>) -> Option<LedgerEntry> {
        self.tries += 1;
        let Some(known) = account_state else {
            self.next = Some((0, None));
            return Some(LedgerEntry { after: None, decision: first_decision(self.now) });
        };
        if known.timing.as_ref() != Some(&self.goal.timing) {
            let decision = rescheduled(self.goal, known, self.now);
            self.next = Some((missed_count(&decision), None));
            return Some(ledger_entry(known, decision));
        }
        let decision = decide(self.goal, known, self.now);
        let turn = self.due(known, &decision);
        let is_news = !decision.rows.is_empty() || decision.decided_until < known.decided_until;
        self.next = Some((missed_count(&decision), Some(turn)));
        if is_news {
            return Some(ledger_entry(known, decision));
        }
        self.on_recorded(true);
        None
    }

    /// Takes the result of recording the decision: false if another was recorded meanwhile.
    pub fn on_recorded(&mut self, written: bool) {
        if let Some((missed, turn)) = self.next.take().filter(|_| written) {
            let before = self.due.missed;
            self.is_over = turn.is_some();
            self.due = turn.unwrap_or_default();
            self.due.missed = before + missed;
        }
        if self.tries >= TRIES && !self.is_over {
            // Another turn follows, whatever happens meanwhile.
            let offset = self.goal.timing.offset(self.goal.id.as_str());
            let next = self.goal.timing.next(self.now);
            self.due.wake = next.map(|slot| slot.at.after(offset));
            self.is_over = true;
        }
    }

    pub fn into_turn(self) -> DueActions {
        self.due
    }

    /// Returns the actions due once a decision is recorded.
    fn due(&self, state: &GoalLedgerState, decision: &SlotDecision) -> DueActions {
        let offset = self.goal.timing.offset(self.goal.id.as_str());
        let (start, early): (Vec<_>, Vec<_>) =
            due(state, decision).into_iter().partition(|(slot, _)| slot.after(offset) <= self.now);
        let mut turn =
            DueActions { is_open: is_open(state, decision, &start), start, ..DueActions::default() };
        if decision.cancels_running || replaces(self.goal, state, decision) {
            turn.cancel = state.active.iter().map(|live| live.run.clone()).collect();
        }
        // A clock that was set back has yet to reach them again.
        let again = early.first().map(|(slot, _)| slot.after(offset));
        turn.wake = [again, decision.wake].into_iter().flatten().min();
        turn
    }
}

fn ledger_entry(state: &GoalLedgerState, decision: SlotDecision) -> LedgerEntry {
    LedgerEntry { after: Some(state.decided_until), decision }
}

/// True if a scheduled time waits, once a decision is recorded, that does not start now.
fn is_open(
    account_state: &GoalLedgerState,
    decision: &SlotDecision,
    start: &[(Moment, ReconciliationCause)],
) -> bool {
    let starts = |slot: Moment| start.iter().any(|(one, _)| *one == slot);
    let row = |slot: Moment| decision.rows.iter().find(|row| row.slot == slot);
    let mut before = account_state.open_slots.iter().map(|open| open.slot);
    let mut new = decision.rows.iter().filter(|row| !row.state.is_final());
    new.any(|row| !starts(row.slot))
        || before.any(|slot| !starts(slot) && row(slot).is_none_or(|row| !row.state.is_final()))
}

/// True if a queued scheduled time replaces the running reconciliations: the engine that decided that
/// may have died before it cancelled them.
fn replaces(goal: &Goal, state: &GoalLedgerState, decision: &SlotDecision) -> bool {
    let decided = |slot: Moment| decision.rows.iter().any(|row| row.slot == slot);
    let waits = |open: &OpenSlot| {
        open.state == SlotState::Queued && open.cause == ReconciliationCause::Schedule && !decided(open.slot)
    };
    goal.overlap == GoalOverlapPolicy::Replace && state.open_slots.iter().any(waits)
}

/// Returns the decision about a goal seen for the first time: nothing before now is due.
fn first_decision(now: Moment) -> SlotDecision {
    SlotDecision { rows: Vec::new(), decided_until: now, cancels_running: false, wake: None }
}

fn missed_count(decision: &SlotDecision) -> u64 {
    let missed = decision.rows.iter();
    let missed = missed.filter(|row| row.state == SlotState::Missed);
    missed.map(|row| row.count).sum()
}

/// Returns the scheduled times due once a decision is recorded.
fn due(state: &GoalLedgerState, decision: &SlotDecision) -> Vec<(Moment, ReconciliationCause)> {
    let decided = |slot: Moment| decision.rows.iter().any(|row| row.slot == slot);
    let before = state
        .open_slots
        .iter()
        .filter(|open| open.state == SlotState::Due && !decided(open.slot))
        .map(|open| (open.slot, open.cause));
    let now = decision.rows.iter().filter(|row| row.state == SlotState::Due).map(|row| (row.slot, row.cause));
    let mut due: Vec<_> = before.chain(now).collect();
    due.sort_unstable_by_key(|(slot, _)| *slot);
    due
}
