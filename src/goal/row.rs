use serde::{Deserialize, Serialize};

use crate::schedule::Timing;
use crate::time::Moment;

/// How many rows of one decision are kept apart. Beyond that, slots in a row to which the same
/// happened for the same reason share one.
pub(super) const MOST_ROWS: usize = 1000;

/// What became of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotState {
    /// A cycle is to begin for it.
    Due,
    /// It waits until another cycle has ended.
    Queued,
    /// A cycle was begun for it.
    Started,
    /// It was left out on purpose.
    Skipped,
    /// Nobody was there in time.
    Missed,
}

impl SlotState {
    /// Every state.
    pub const ALL: [Self; 5] = [
        Self::Due,
        Self::Queued,
        Self::Started,
        Self::Skipped,
        Self::Missed,
    ];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Queued => "queued",
            Self::Started => "started",
            Self::Skipped => "skipped",
            Self::Missed => "missed",
        }
    }

    /// Whether nothing more is decided about it.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Started | Self::Skipped | Self::Missed)
    }
}

/// What a cycle is begun for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The schedule.
    Schedule,
    /// The schedule, later than it says.
    CatchUp,
    /// Somebody asked for slots of the past.
    Backfill,
    /// Somebody asked for it now; there is no slot.
    Person,
}

impl Cause {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::CatchUp => "catch_up",
            Self::Backfill => "backfill",
            Self::Person => "person",
        }
    }
}

/// What was decided about a slot, or about several in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The slot; the first of several.
    pub slot: Moment,
    /// The last of several; of one, the slot itself.
    pub last: Moment,
    /// How many slots it speaks for.
    pub count: u64,
    /// What becomes of it.
    pub state: SlotState,
    /// What a cycle is begun for.
    pub cause: Cause,
    /// Why it is not begun, or why late; a few words, or none.
    pub why: String,
}

impl Row {
    /// About one slot.
    pub fn of(slot: Moment, state: SlotState, cause: Cause, why: impl Into<String>) -> Self {
        Self {
            slot,
            last: slot,
            count: 1,
            state,
            cause,
            why: why.into(),
        }
    }
}

/// What is left of a row about several slots of a timing where only those up to an instant stay
/// decided: the last of them, and how many they are. At least the first stays.
pub fn cut_off(timing: &Timing, first: Moment, decided: Moment) -> (Moment, u64) {
    let slots = timing.slots(first, decided);
    slots.fold((first, 1), |(_, count), slot| (slot.at, count + 1))
}

/// The rows of one decision.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: Vec<Row>,
    /// The number of the slot that follows the last row without a slot between them.
    next: Option<u64>,
}

impl Rows {
    /// Adds a row about the slot of a number: slots are counted in order. Those that are left out
    /// share one with the row before where there are many, if no slot is between them.
    pub(super) fn push(&mut self, number: u64, row: Row) {
        if self.rows.len() >= MOST_ROWS
            && self.next == Some(number)
            && let Some(last) = self.rows.last_mut()
            && matches!(row.state, SlotState::Skipped | SlotState::Missed)
            && (last.state, last.cause, &last.why) == (row.state, row.cause, &row.why)
        {
            last.last = row.last;
            last.count = last.count.saturating_add(row.count);
        } else {
            self.rows.push(row);
        }
        self.next = number.checked_add(1);
    }

    /// Puts a row in the place of that of its slot; adds it if there is none.
    pub(super) fn replace(&mut self, row: Row) {
        if let Some(known) = self.get_mut(row.slot) {
            *known = row;
        } else {
            self.rows.push(row);
            self.next = None;
        }
    }

    /// What becomes of a slot that is among them, if it is.
    pub(super) fn get_mut(&mut self, slot: Moment) -> Option<&mut Row> {
        self.rows.iter_mut().rev().find(|row| row.slot == slot)
    }

    pub(super) fn into_vec(self) -> Vec<Row> {
        self.rows
    }
}
