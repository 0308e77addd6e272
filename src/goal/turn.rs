use std::borrow::Cow;

use super::{Cause, Decision, Known, Open, SlotState, decide, rescheduled};
use crate::model::{Goal, Overlap};
use crate::name::{PlanId, RunId};
use crate::time::Moment;

/// Where slots are accounted for: the store, or what a simulation keeps in memory.
pub trait Ledger {
    /// Why it cannot be read or written.
    type Error;

    /// What is known of a goal; `None` if nobody ever looked at it.
    fn known(&self, goal: &PlanId) -> Result<Option<Cow<'_, Known>>, Self::Error>;

    /// Writes down what was decided, all of it or nothing, if slots are accounted for as far as
    /// `after` says; if not, somebody else decided meanwhile, and the answer is no.
    fn record(
        &mut self,
        goal: &Goal,
        after: Option<Moment>,
        decision: &Decision,
        now: Moment,
    ) -> Result<bool, Self::Error>;
}

/// What is to be done for a goal now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The slots for which cycles are to begin, in order; none of them is later than now.
    pub start: Vec<(Moment, Cause)>,
    /// The cycles that are to be cancelled, by their first runs; the same again until they have ended.
    pub cancel: Vec<RunId>,
    /// When the next slot begins; `None`: never.
    pub wake: Option<Moment>,
    /// How many slots were missed.
    pub missed: u64,
    /// Whether slots besides those are still to begin: what becomes of them may be another at any
    /// instant, so the goal is looked at whenever anybody wakes up.
    pub is_open: bool,
}

/// How often a decision is made anew because somebody else decided meanwhile.
const TRIES: usize = 5;

/// Looks at a goal: accounts for its slots, and says what is to be done.
pub fn turn<L: Ledger>(goal: &Goal, ledger: &mut L, now: Moment) -> Result<Turn, L::Error> {
    let mut looking = Looking::new(goal, now);
    while !looking.is_over() {
        let entry = looking.decide(ledger.known(&goal.id)?.as_deref());
        if let Some(Entry { after, decision }) = entry {
            let written = ledger.record(goal, after, &decision, now)?;
            looking.written(written);
        }
    }
    Ok(looking.into_turn())
}

/// What is to be written down of a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How far slots are accounted for in what it was decided from.
    pub after: Option<Moment>,
    /// What was decided.
    pub decision: Decision,
}

/// A look at a goal that waits for nobody: whoever has the ledger says what is known, writes down
/// what is decided, and says whether that could be written.
#[derive(Debug)]
pub struct Looking<'g> {
    goal: &'g Goal,
    now: Moment,
    tries: usize,
    turn: Turn,
    /// What becomes of the turn once it is written down that was decided.
    next: Option<(u64, Option<Turn>)>,
    is_over: bool,
}

impl<'g> Looking<'g> {
    /// Begins to look at a goal.
    pub fn new(goal: &'g Goal, now: Moment) -> Self {
        Self {
            goal,
            now,
            tries: 0,
            turn: Turn::default(),
            next: None,
            is_over: false,
        }
    }

    /// Whether all is decided and written down.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Decides by what is known, and says what is to be written down, if anything is.
    pub fn decide(&mut self, known: Option<&Known>) -> Option<Entry> {
        self.tries += 1;
        let Some(known) = known else {
            self.next = Some((0, None));
            return Some(Entry {
                after: None,
                decision: first(self.now),
            });
        };
        if known.timing.as_ref() != Some(&self.goal.timing) {
            let decision = rescheduled(self.goal, known, self.now);
            self.next = Some((missed(&decision), None));
            return Some(entry(known, decision));
        }
        let decision = decide(self.goal, known, self.now);
        let turn = self.due(known, &decision);
        let is_news = !decision.rows.is_empty() || decision.decided < known.decided;
        self.next = Some((missed(&decision), Some(turn)));
        if is_news {
            return Some(entry(known, decision));
        }
        self.written(true);
        None
    }

    /// Takes note of whether it could be written down that was decided: not if somebody else decided
    /// meanwhile.
    pub fn written(&mut self, written: bool) {
        if let Some((missed, turn)) = self.next.take().filter(|_| written) {
            let before = self.turn.missed;
            self.is_over = turn.is_some();
            self.turn = turn.unwrap_or_default();
            self.turn.missed = before + missed;
        }
        if self.tries >= TRIES && !self.is_over {
            // Whatever goes on meanwhile, somebody looks again.
            let offset = self.goal.timing.offset(self.goal.id.as_str());
            let next = self.goal.timing.next(self.now);
            self.turn.wake = next.map(|slot| slot.at.after(offset));
            self.is_over = true;
        }
    }

    /// What is to be done.
    pub fn into_turn(self) -> Turn {
        self.turn
    }

    /// What is to be done once a decision is written down.
    fn due(&self, known: &Known, decision: &Decision) -> Turn {
        let offset = self.goal.timing.offset(self.goal.id.as_str());
        let (start, early): (Vec<_>, Vec<_>) = due(known, decision)
            .into_iter()
            .partition(|(slot, _)| slot.after(offset) <= self.now);
        let mut turn = Turn {
            is_open: is_open(known, decision, &start),
            start,
            ..Turn::default()
        };
        if decision.replaces || replaces(self.goal, known, decision) {
            turn.cancel = known.live.iter().map(|live| live.run.clone()).collect();
        }
        // A clock that was set back has yet to come to them again.
        let again = early.first().map(|(slot, _)| slot.after(offset));
        turn.wake = [again, decision.wake].into_iter().flatten().min();
        turn
    }
}

fn entry(known: &Known, decision: Decision) -> Entry {
    Entry {
        after: Some(known.decided),
        decision,
    }
}

/// Whether any slot waits, once a decision is written down, that does not start now.
fn is_open(known: &Known, decision: &Decision, start: &[(Moment, Cause)]) -> bool {
    let starts = |slot: Moment| start.iter().any(|(one, _)| *one == slot);
    let row = |slot: Moment| decision.rows.iter().find(|row| row.slot == slot);
    let mut before = known.open.iter().map(|open| open.slot);
    let mut new = decision.rows.iter().filter(|row| !row.state.is_final());
    new.any(|row| !starts(row.slot))
        || before.any(|slot| !starts(slot) && row(slot).is_none_or(|row| !row.state.is_final()))
}

/// Whether a slot waits that replaces the cycles that go on: whoever decided that may have died
/// before anybody was asked to end.
fn replaces(goal: &Goal, known: &Known, decision: &Decision) -> bool {
    let decided = |slot: Moment| decision.rows.iter().any(|row| row.slot == slot);
    let waits = |open: &Open| {
        open.state == SlotState::Queued && open.cause == Cause::Schedule && !decided(open.slot)
    };
    goal.overlap == Overlap::Replace && known.open.iter().any(waits)
}

/// Of a goal that is seen for the first time, nothing that was due before now is.
fn first(now: Moment) -> Decision {
    Decision {
        rows: Vec::new(),
        decided: now,
        replaces: false,
        wake: None,
    }
}

fn missed(decision: &Decision) -> u64 {
    let missed = decision.rows.iter();
    let missed = missed.filter(|row| row.state == SlotState::Missed);
    missed.map(|row| row.count).sum()
}

/// The slots that are due once a decision is written down.
fn due(known: &Known, decision: &Decision) -> Vec<(Moment, Cause)> {
    let decided = |slot: Moment| decision.rows.iter().any(|row| row.slot == slot);
    let before = known
        .open
        .iter()
        .filter(|open| open.state == SlotState::Due && !decided(open.slot))
        .map(|open| (open.slot, open.cause));
    let now = decision
        .rows
        .iter()
        .filter(|row| row.state == SlotState::Due)
        .map(|row| (row.slot, row.cause));
    let mut due: Vec<_> = before.chain(now).collect();
    due.sort_unstable_by_key(|(slot, _)| *slot);
    due
}
