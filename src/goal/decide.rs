use std::collections::VecDeque;
use std::time::Duration;

use super::known::before;
use super::row::Rows;
use super::{Cause, Known, Open, Row, SlotState};
use crate::model::{Goal, MissedRun, Overlap};
use crate::schedule::Slot;
use crate::time::{Moment, format_duration};

/// What is to be done about the slots of a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What became of slots since the last decision: new rows, and rows that replace those of the
    /// same slots.
    pub rows: Vec<Row>,
    /// All slots up to here are accounted for.
    pub decided: Moment,
    /// Whether the cycles that go on are to be cancelled.
    pub replaces: bool,
    /// When the next slot begins; `None`: never.
    pub wake: Option<Moment>,
}

/// Decides about all slots of a goal that are due and not accounted for. Pure: the same clock and
/// ledger lead to the same decision.
///
/// What is late by more than the goal's window is *missed*, and begins only as the goal's rule for
/// missed slots says. What is on time begins, unless another cycle goes on: then the goal's rule
/// for overlaps says what becomes of it. Slots that are excluded, or of a goal that is paused, are
/// skipped.
pub fn decide(goal: &Goal, known: &Known, now: Moment) -> Decision {
    let offset = goal.timing.offset(goal.id.as_str());
    let horizon = before(now, offset);
    let mut deciding = Deciding::new(goal, known, now, offset);
    let mut walk = goal
        .timing
        .slots(known.decided, Moment::from_millis(i64::MAX))
        .peekable();
    let is_open = |slot: Moment| known.open.iter().any(|open| open.slot == slot);
    // The slots that are due by now and not accounted for, counted.
    let slots = std::iter::from_fn(|| walk.next_if(|slot| slot.at <= horizon));
    let slots = (0..).zip(slots);
    let slots = slots.filter(|(_, slot)| !known.begun.contains(&slot.at) && !is_open(slot.at));
    if known.paused.is_some() {
        deciding.pause(slots);
    } else {
        deciding.give_up();
        deciding.wait();
        deciding.look(slots);
        deciding.advance();
    }
    // A clock that ran ahead and was put right leaves nothing decided that is still to come. One
    // that is only behind a slot's spread leaves all as it is: what was before a goal was first
    // seen, or before its schedule was changed, is not due.
    let (decided, next) = if known.decided <= now {
        (known.decided.max(horizon), walk.next())
    } else {
        (horizon, goal.timing.next(horizon))
    };
    Decision {
        rows: deciding.rows.into_vec(),
        decided,
        replaces: deciding.replaces,
        wake: next.map(|slot| slot.at.after(offset)),
    }
}

/// The words for a slot that came while its goal was paused.
const PAUSED: &str = "the goal was paused";

/// What became of the slots of a goal whose schedule is another now: those of the old one that
/// were due and that nobody decided about are missed, and the new one counts from now on.
pub fn rescheduled(goal: &Goal, known: &Known, now: Moment) -> Decision {
    let mut rows = Rows::default();
    let (state, why) = match known.paused {
        None => (
            SlotState::Missed,
            "its schedule was changed before anybody looked",
        ),
        Some(_) => (SlotState::Skipped, PAUSED),
    };
    let old = known.timing.iter();
    let slots = old.flat_map(|old| old.slots(known.decided, now));
    for (number, slot) in (0..).zip(slots) {
        rows.push(number, out(&slot, state, why));
    }
    let decided = now;
    let offset = goal.timing.offset(goal.id.as_str());
    Decision {
        rows: rows.into_vec(),
        decided,
        replaces: false,
        wake: goal.timing.next(decided).map(|slot| slot.at.after(offset)),
    }
}

/// What became of the slots of a goal that was paused until now.
pub fn paused_until(goal: &Goal, known: &Known, now: Moment) -> Decision {
    let mut known = known.clone();
    known.paused.get_or_insert((now, String::new()));
    // A slot that was spread to begin later was due all the same.
    let offset = goal.timing.offset(goal.id.as_str());
    decide(goal, &known, now.after(offset))
}

fn out(slot: &Slot, state: SlotState, why: &str) -> Row {
    match &slot.excluded {
        Some(excluded) => Row::of(slot.at, SlotState::Skipped, Cause::Schedule, excluded),
        None => Row::of(slot.at, state, Cause::Schedule, why),
    }
}

/// A slot with its number among those that one decision is about.
type Numbered = (u64, Slot);

struct Deciding<'a> {
    goal: &'a Goal,
    known: &'a Known,
    now: Moment,
    offset: Duration,
    rows: Rows,
    /// What is still to begin, as far as that is decided.
    open: Vec<Open>,
    replaces: bool,
}

impl<'a> Deciding<'a> {
    fn new(goal: &'a Goal, known: &'a Known, now: Moment, offset: Duration) -> Self {
        let due = |open: &&Open| open.slot.after(offset) <= now;
        Self {
            goal,
            known,
            now,
            offset,
            rows: Rows::default(),
            // What a clock that ran ahead decided too early is left until its time comes.
            open: known.open.iter().filter(due).cloned().collect(),
            replaces: false,
        }
    }

    /// Nothing begins in a pause, but what somebody asked for in so many words.
    fn pause(&mut self, slots: impl Iterator<Item = Numbered>) {
        for (number, slot) in slots {
            self.rows
                .push(number, out(&slot, SlotState::Skipped, PAUSED));
        }
        for open in std::mem::take(&mut self.open) {
            if open.cause == Cause::Backfill {
                self.open.push(open);
            } else {
                self.close(&open, SlotState::Skipped, PAUSED);
            }
        }
    }

    /// How late a slot would begin now.
    fn late(&self, slot: Moment) -> Duration {
        self.now.since(slot.after(self.offset))
    }

    /// What was to begin and did not, for too long, is missed.
    fn give_up(&mut self) {
        let missed = self.goal.missed;
        for open in std::mem::take(&mut self.open) {
            let waited = self.now.since(open.at);
            let patience = match (open.state, missed.run) {
                _ if open.cause == Cause::Backfill => Duration::MAX,
                (SlotState::Due, MissedRun::None) => self.goal.window,
                _ => self.goal.window.max(missed.window),
            };
            if waited > patience {
                let why = format!("it could not begin within {}", format_duration(patience));
                self.close(&open, SlotState::Missed, &why);
            } else {
                self.open.push(open);
            }
        }
    }

    /// What was to begin waits for a cycle that goes on by now: somebody asked for one, or the clock
    /// was set back and has come to it once more.
    fn wait(&mut self) {
        if self.known.live.is_empty() || self.goal.overlap == Overlap::Allow {
            return;
        }
        for open in std::mem::take(&mut self.open) {
            match (open.state, open.cause, self.goal.overlap) {
                (SlotState::Due, Cause::Schedule, Overlap::Skip) => {
                    let why = self.busy_with();
                    self.close(&open, SlotState::Skipped, &why);
                }
                (SlotState::Due, ..) => {
                    self.close(&open, SlotState::Queued, "");
                    let state = SlotState::Queued;
                    self.open.push(Open { state, ..open });
                }
                _ => self.open.push(open),
            }
        }
    }

    /// Of late slots only those are kept in memory that may begin, however many there are.
    fn look(&mut self, slots: impl Iterator<Item = Numbered>) {
        let mut late: VecDeque<Numbered> = VecDeque::new();
        let (rule, window) = (self.goal.missed, self.goal.window);
        let most = match rule.run {
            MissedRun::None => 0,
            MissedRun::Latest => 1,
            MissedRun::All => rule.cap as usize,
        };
        for (number, slot) in slots {
            let by = self.late(slot.at);
            if slot.excluded.is_some() {
                let row = out(&slot, SlotState::Skipped, "");
                self.rows.push(number, row);
            } else if by <= window {
                // From here on all are on time.
                if rule.run == MissedRun::Latest {
                    late.drain(..).for_each(|slot| self.superseded(&slot));
                }
                late.drain(..).for_each(|slot| self.accept(&slot));
                self.take(number, &slot);
            } else if most == 0 {
                self.miss(&(number, slot), "nobody was there in time");
            } else if by > rule.window {
                let older = format!("it was found later than {}", format_duration(rule.window));
                self.miss(&(number, slot), &older);
            } else {
                late.push_back((number, slot));
                if late.len() > most
                    && let Some(first) = late.pop_front()
                {
                    self.superseded(&first);
                }
            }
        }
        late.drain(..).for_each(|slot| self.accept(&slot));
    }

    fn miss(&mut self, (number, slot): &Numbered, why: &str) {
        self.rows.push(*number, out(slot, SlotState::Missed, why));
    }

    /// A late slot gives way to later ones.
    fn superseded(&mut self, slot: &Numbered) {
        let why = match self.goal.missed.run {
            MissedRun::All => format!("more than {} were missed", self.goal.missed.cap),
            _ => "a later one runs instead".to_owned(),
        };
        self.miss(slot, &why);
    }

    /// Whether a cycle goes on, or is to begin.
    fn is_busy(&self) -> bool {
        !self.known.live.is_empty() || !self.open.is_empty()
    }

    /// A slot that is on time.
    fn take(&mut self, number: u64, slot: &Slot) {
        let slot = (number, slot);
        let (cause, why) = (Cause::Schedule, "");
        if self.goal.overlap == Overlap::Allow || !self.is_busy() {
            self.open(slot, SlotState::Due, cause, why);
            return;
        }
        match self.goal.overlap {
            Overlap::Skip | Overlap::Allow => {
                let why = self.busy_with();
                let row = out(slot.1, SlotState::Skipped, &why);
                self.rows.push(number, row);
            }
            Overlap::QueueOne => {
                self.drop_queued("a later one waits instead");
                self.open(slot, SlotState::Queued, cause, why);
            }
            Overlap::QueueAll => self.open(slot, SlotState::Queued, cause, why),
            Overlap::Replace => {
                for open in std::mem::take(&mut self.open) {
                    self.close(&open, SlotState::Skipped, "a later one replaced it");
                }
                self.replaces = !self.known.live.is_empty();
                let state = if self.replaces {
                    SlotState::Queued
                } else {
                    SlotState::Due
                };
                self.open(slot, state, cause, why);
            }
        }
    }

    /// A missed slot that is to begin after all: one after the other, whatever the rule for
    /// overlaps.
    fn accept(&mut self, (number, slot): &Numbered) {
        let why = format!("{} late", format_duration(whole(self.late(slot.at))));
        let state = if self.is_busy() {
            SlotState::Queued
        } else {
            SlotState::Due
        };
        self.open((*number, slot), state, Cause::CatchUp, &why);
    }

    fn drop_queued(&mut self, why: &str) {
        for open in std::mem::take(&mut self.open) {
            if open.state == SlotState::Queued && open.cause == Cause::Schedule {
                self.close(&open, SlotState::Skipped, why);
            } else {
                self.open.push(open);
            }
        }
    }

    fn busy_with(&self) -> String {
        let live = self.known.live.first().and_then(|live| live.slot);
        match live.or(self.open.first().map(|open| open.slot)) {
            Some(slot) => format!("the cycle of {} goes on", slot.to_second()),
            None => "a cycle that somebody asked for goes on".into(),
        }
    }

    fn open(&mut self, (number, slot): (u64, &Slot), state: SlotState, cause: Cause, why: &str) {
        let row = Row::of(slot.at, state, cause, why);
        self.rows.push(number, row);
        self.open.push(Open {
            slot: slot.at,
            state,
            cause,
            at: self.now,
        });
    }

    /// Says of a slot that was to begin what becomes of it instead.
    fn close(&mut self, open: &Open, state: SlotState, why: &str) {
        self.rows
            .replace(Row::of(open.slot, state, open.cause, why));
    }

    /// The first that waits begins once nothing goes on.
    fn advance(&mut self) {
        let goes_on = !self.known.live.is_empty()
            || self.open.iter().any(|open| open.state == SlotState::Due);
        if goes_on {
            return;
        }
        let Some(first) = self.open.iter().min_by_key(|open| open.slot).cloned() else {
            return;
        };
        let why = match self.rows.get_mut(first.slot) {
            Some(row) => row.why.clone(),
            None => String::new(),
        };
        self.rows
            .replace(Row::of(first.slot, SlotState::Due, first.cause, why));
    }
}

/// Without what nobody wants to read.
fn whole(time: Duration) -> Duration {
    if time < Duration::from_secs(1) {
        time
    } else {
        Duration::from_secs(time.as_secs())
    }
}
