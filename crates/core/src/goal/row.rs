use serde::{Deserialize, Serialize};

use wf_base::{keywords, time::Moment};
use wf_model::schedule::GoalSchedule;

/// The maximum number of separate rows in one decision. Beyond that, consecutive scheduled times
/// with the same state and reason share one.
pub(super) const MOST_ROWS: usize = 1000;

keywords! {
    /// The state of a scheduled time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SlotState {
        /// A reconciliation is to start for it.
        Due = "due",
        /// It waits until another reconciliation has ended.
        Queued = "queued",
        /// A reconciliation was started for it.
        Started = "started",
        /// It was skipped by a rule.
        Skipped = "skipped",
        /// Its reconciliation may not start: the goal is not accepted, or no approval permits it.
        Blocked = "blocked",
        /// It was not started in time.
        Missed = "missed",
    }
}

impl SlotState {
    /// True if the decision about it is final.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Started | Self::Skipped | Self::Blocked | Self::Missed)
    }
}

keywords! {
    /// The cause of a reconciliation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ReconciliationCause {
        /// The schedule.
        Schedule = "schedule",
        /// The schedule, later than planned.
        CatchUp = "catch_up",
        /// The user asked for past scheduled times.
        Backfill = "backfill",
        /// The user asked for it now; there is no scheduled time.
        Person = "person",
    }
}

impl ReconciliationCause {
    /// True if a user asked for it: no pause and no delay keeps it from being started.
    pub fn is_requested(self) -> bool {
        matches!(self, Self::Backfill | Self::Person)
    }
}

/// The decision about a scheduled time, or about several in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotEntry {
    /// The scheduled time; the first of several.
    pub slot: Moment,
    /// The last of several; for one, the scheduled time itself.
    pub last: Moment,
    /// The number of scheduled times in the row.
    pub count: u64,
    pub state: SlotState,
    pub cause: ReconciliationCause,
    /// The reason why it is not started, or is late; a few words, or none.
    pub reason: String,
}

impl SlotEntry {
    /// Makes a row about one scheduled time.
    pub fn of(slot: Moment, state: SlotState, cause: ReconciliationCause, reason: impl Into<String>) -> Self {
        Self { slot, last: slot, count: 1, state, cause, reason: reason.into() }
    }
}

/// Cuts a row about several scheduled times so only those up to an instant stay decided; returns the last of
/// them, and their number. At least the first stays.
pub fn truncate_at(schedule: &GoalSchedule, first: Moment, decided: Moment) -> (Moment, u64) {
    let slots = schedule.slots(first, decided);
    slots.fold((first, 1), |(_, count), slot| (slot.at, count + 1))
}

/// The rows of one decision.
#[derive(Debug, Default)]
pub(super) struct SlotEntries {
    entries: Vec<SlotEntry>,
    /// The number of the scheduled time that directly follows the last row.
    next: Option<u64>,
}

impl SlotEntries {
    /// Adds a row about the scheduled time with a number: they are counted in order. If there are
    /// many, skipped and missed times share a row with the one before, if it is adjacent.
    pub(super) fn push(&mut self, number: u64, entry: SlotEntry) {
        if self.entries.len() >= MOST_ROWS
            && self.next == Some(number)
            && let Some(last) = self.entries.last_mut()
            && matches!(entry.state, SlotState::Skipped | SlotState::Missed)
            && (last.state, last.cause, &last.reason) == (entry.state, entry.cause, &entry.reason)
        {
            last.last = entry.last;
            last.count = last.count.saturating_add(entry.count);
        } else {
            self.entries.push(entry);
        }
        self.next = number.checked_add(1);
    }

    /// Replaces the row of the same scheduled time; adds it if there is none.
    pub(super) fn replace(&mut self, entry: SlotEntry) {
        if let Some(known) = self.get_mut(entry.slot) {
            *known = entry;
        } else {
            self.entries.push(entry);
            self.next = None;
        }
    }

    /// Returns the row of a scheduled time, if there is one.
    pub(super) fn get_mut(&mut self, slot: Moment) -> Option<&mut SlotEntry> {
        self.entries.iter_mut().rev().find(|row| row.slot == slot)
    }

    pub(super) fn into_vec(self) -> Vec<SlotEntry> {
        self.entries
    }
}
