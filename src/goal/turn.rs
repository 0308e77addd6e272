use super::{Cause, Decision, Known, Open, SlotState, decide, rescheduled};
use crate::model::{Goal, Overlap};
use crate::name::{PlanId, RunId};
use crate::time::Moment;

/// Where slots are accounted for: the store, or what a simulation keeps in memory.
pub trait Ledger {
    /// Why it cannot be read or written.
    type Error;

    /// What is known of a goal; `None` if nobody ever looked at it.
    fn known(&self, goal: &PlanId) -> Result<Option<Known>, Self::Error>;

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
}

/// How often a decision is made anew because somebody else decided meanwhile.
const TRIES: usize = 5;

/// Looks at a goal: accounts for its slots, and says what is to be done.
pub fn turn<L: Ledger>(goal: &Goal, ledger: &mut L, now: Moment) -> Result<Turn, L::Error> {
    let offset = goal.timing.offset(goal.id.as_str());
    let mut turn = Turn {
        // Whatever goes on meanwhile, somebody looks again.
        wake: goal.timing.next(now).map(|slot| slot.at.after(offset)),
        ..Turn::default()
    };
    for _ in 0..TRIES {
        let Some(known) = ledger.known(&goal.id)? else {
            ledger.record(goal, None, &first(now), now)?;
            continue;
        };
        if known.timing.as_ref() != Some(&goal.timing) {
            let decision = rescheduled(goal, &known, now);
            if ledger.record(goal, Some(known.decided), &decision, now)? {
                turn.missed += missed(&decision);
            }
            continue;
        }
        let decision = decide(goal, &known, now);
        let is_news = !decision.rows.is_empty() || decision.decided < known.decided;
        if is_news && !ledger.record(goal, Some(known.decided), &decision, now)? {
            continue;
        }
        turn.missed += missed(&decision);
        let (start, early) = due(&known, &decision)
            .into_iter()
            .partition(|(slot, _)| slot.after(offset) <= now);
        turn.start = start;
        if decision.replaces || replaces(goal, &known, &decision) {
            turn.cancel = known.live.into_iter().map(|live| live.run).collect();
        }
        // A clock that was set back has yet to come to them again.
        let early: Vec<(Moment, Cause)> = early;
        let again = early.first().map(|(slot, _)| slot.after(offset));
        turn.wake = [again, decision.wake].into_iter().flatten().min();
        break;
    }
    Ok(turn)
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
