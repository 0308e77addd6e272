//! Slots one by one: those that a schedule has, with what the ledger has of them, and those that only the ledger has.

use std::collections::BTreeMap;

use serde::Serialize;

use wf_base::{name::RunId, time::Moment};
use wf_core::goal::ReconciliationHealth;
use wf_model::schedule::{GoalSchedule, ScheduleZone, Slot};
use wf_store::SlotRow;

use super::hours::{severity, slot_word, state_words};

/// An entry of the ledger, with the result of its reconciliation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::views) struct LedgerSlot {
    pub row: SlotRow,
    /// `None`: there was no reconciliation, or it has not ended.
    pub health: Option<ReconciliationHealth>,
}

/// A slot of a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CalendarSlot {
    pub at: Moment,
    /// The time of day in its zone: `07:00`, with seconds if it has any.
    pub local: String,
    /// The time of day in UTC.
    pub utc: String,
    /// The result, or the state as the ledger has it; `excluded`, `planned`, or `unrecorded` if it is past and the ledger
    /// has nothing of it; `before` if the ledger has nothing of so early a time.
    pub state: &'static str,
    /// The number of slots: several in a row may be one entry of the ledger.
    pub count: u64,
    /// The first run of its reconciliation.
    pub run: Option<RunId>,
}

/// Slots in order, of which a number is listed: the worst ones, if there are more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SlotList {
    pub slots: Vec<CalendarSlot>,
    /// The others by state, in words; empty if there are none.
    pub more: String,
}

impl SlotList {
    pub fn of(mut slots: Vec<CalendarSlot>, limit: usize) -> Self {
        slots.sort_by_key(|slot| severity(slot.state));
        let rest = slots.split_off(slots.len().min(limit));
        slots.sort_by_key(|slot| slot.at);
        let mut counts = BTreeMap::new();
        for slot in &rest {
            *counts.entry(slot.state).or_insert(0) += slot.count;
        }
        Self { slots, more: state_words(&counts) }
    }
}

/// The slots of a goal at one moment.
#[derive(Clone, Copy)]
pub(super) struct SlotMerge<'g> {
    pub schedule: &'g GoalSchedule,
    pub zone: &'g ScheduleZone,
    pub now: Moment,
    pub recorded_since: Option<Moment>,
}

impl SlotMerge<'_> {
    /// Returns scheduled slots with what the ledger has of them, and the entries of the ledger that the schedule does not
    /// have any more. Both are in order.
    pub fn slots(self, scheduled: impl Iterator<Item = Slot>, ledger: &[LedgerSlot]) -> Vec<CalendarSlot> {
        let mut is_shown = vec![false; ledger.len()];
        let mut slots = Vec::new();
        for slot in scheduled {
            let place = ledger.partition_point(|entry| entry.row.slot <= slot.at).checked_sub(1);
            let place =
                place.filter(|place| ledger.get(*place).is_some_and(|entry| slot.at <= entry.row.last));
            if let Some(shown) = place.and_then(|place| is_shown.get_mut(place)) {
                *shown = true;
            }
            let state = match place.and_then(|place| ledger.get(place)) {
                Some(entry) => slot_word(entry.health, entry.row.state),
                None if slot.excluded.is_some() => "excluded",
                None if slot.at > self.now => "planned",
                None if self.recorded_since.is_none_or(|since| slot.at < since) => "before",
                None => "unrecorded",
            };
            let entry = place.and_then(|place| ledger.get(place));
            let shown = slot_of(slot.at, self.schedule.zone_of(&slot), state);
            slots.push(CalendarSlot { run: entry.and_then(|entry| entry.row.run.clone()), ..shown });
        }
        let others = ledger.iter().zip(&is_shown).filter(|(_, is_shown)| !**is_shown);
        slots.extend(others.map(|(entry, _)| CalendarSlot {
            count: entry.row.count,
            run: entry.row.run.clone(),
            ..slot_of(entry.row.slot, self.zone, slot_word(entry.health, entry.row.state))
        }));
        slots.sort_by_key(|slot| slot.at);
        slots
    }
}

/// Returns one slot, without a run.
fn slot_of(at: Moment, zone: &ScheduleZone, state: &'static str) -> CalendarSlot {
    let (local, utc) = (zone.local(at).to_string(), at.to_string());
    CalendarSlot { at, local: clock(&local), utc: clock(&utc), state, count: 1, run: None }
}

/// Returns the time of day of an instant, with the seconds if there are any.
fn clock(text: &str) -> String {
    let clock = text.get(11..19).unwrap_or_default();
    clock.strip_suffix(":00").unwrap_or(clock).to_owned()
}
