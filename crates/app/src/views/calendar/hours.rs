//! A month of a goal that is due often: a cell for each hour, which says the worst that happened in it.
//!
//! **Invariant:** no hour is empty without a reason: one that was not computed, or of which nothing is recorded, says so.

use std::collections::BTreeMap;

use serde::Serialize;

use wf_base::time::Moment;
use wf_core::goal::{ReconciliationHealth, SlotState};
use wf_model::schedule::{ScheduleZone, Slot};
use wf_store::SlotTally;

/// The most slots to come that are computed for a month.
const MAX_PLANNED: usize = 3_000;

/// A quarter of an hour, in milliseconds: the clocks of all zones differ by whole ones.
const QUARTER: i64 = 15 * 60 * 1000;

/// A day of a month by the hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DayHours {
    /// The number in the month.
    pub day: i64,
    /// The hours from 0 to 23.
    pub cells: Vec<HourCell>,
}

/// An hour of a day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HourCell {
    /// The worst state of its slots; empty: there are none.
    pub state: String,
    /// Its slots by state, in words: `118 started, 2 missed`.
    pub words: String,
}

/// The states of slots, the worst first.
const STATES: [&str; 12] = [
    "failed",
    "missed",
    "unknown",
    "blocked",
    "waiting",
    "cancelled",
    "skipped",
    "due",
    "started",
    "repaired",
    "healthy",
    "planned",
];

/// An hour of the month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MonthHour {
    day: i64,
    hour: usize,
}

/// The hours of a month, while they are filled.
pub(super) struct HourTable<'z> {
    zone: &'z ScheduleZone,
    /// The month: `2026-11`.
    month: String,
    now: Moment,
    recorded_since: Option<Moment>,
    /// The number of slots by day and hour, and then by state. Zero: slots that were counted before reach into the hour.
    counts: BTreeMap<MonthHour, BTreeMap<&'static str, u64>>,
    /// The hours that the month has: one is left out when clocks go forward.
    known: BTreeMap<MonthHour, Moment>,
    /// The end of what was computed.
    computed_until: Moment,
}

impl<'z> HourTable<'z> {
    pub fn new(zone: &'z ScheduleZone, month: String, now: Moment, recorded_since: Option<Moment>) -> Self {
        let (counts, known) = (BTreeMap::new(), BTreeMap::new());
        Self { zone, month, now, recorded_since, counts, known, computed_until: now }
    }

    /// Returns the day and the hour of an instant; `None`: it is of another month.
    fn hour_of(&self, at: Moment) -> Option<MonthHour> {
        let local = self.zone.local(at).to_string();
        let rest = local.strip_prefix(&self.month)?;
        Some(MonthHour { day: rest.get(1..3)?.parse().ok()?, hour: rest.get(4..6)?.parse().ok()? })
    }

    /// Counts slots of one state; where they reach beyond an hour, those after it have the state, too.
    pub fn add_tally(&mut self, tally: &SlotTally) {
        let state = word(tally);
        let mut count = tally.count;
        let mut at = tally.quarter;
        while at <= tally.last {
            if let Some(hour) = self.hour_of(at) {
                *self.counts.entry(hour).or_default().entry(state).or_default() += count;
            }
            count = 0;
            at = Moment::from_millis(at.millis() + QUARTER);
        }
    }

    /// Counts the slots to come until an instant, or the first of them.
    pub fn add_planned(&mut self, slots: impl Iterator<Item = Slot>, until: Moment) {
        self.computed_until = until;
        for (number, slot) in slots.enumerate() {
            if number == MAX_PLANNED {
                self.computed_until = slot.at;
                return;
            }
            let state = if slot.excluded.is_some() { "skipped" } else { "planned" };
            if let Some(hour) = self.hour_of(slot.at) {
                *self.counts.entry(hour).or_default().entry(state).or_default() += 1;
            }
        }
    }

    /// Notes the beginning of each hour of the month.
    pub fn add_hours(&mut self, from: Moment, until: Moment) {
        let mut at = from;
        while at < until {
            if let Some(hour) = self.hour_of(at) {
                self.known.entry(hour).or_insert(at);
            }
            at = Moment::from_millis(at.millis() + QUARTER);
        }
    }

    /// Returns a day of the month.
    pub fn day(&self, day: i64) -> DayHours {
        DayHours { day, cells: (0..24).map(|hour| self.cell(MonthHour { day, hour })).collect() }
    }

    fn cell(&self, hour: MonthHour) -> HourCell {
        let Some(begin) = self.known.get(&hour) else {
            return HourCell::default();
        };
        let end = Moment::from_millis(begin.millis() + 4 * QUARTER);
        let is_computed = end <= self.computed_until.max(self.now);
        if let Some(counts) = self.counts.get(&hour).filter(|_| is_computed) {
            let counted = STATES.iter().filter_map(|state| Some((*state, *counts.get(state)?)));
            let words = counted.clone().map(|(state, count)| match count {
                0 => state.to_owned(),
                _ => format!("{count} {state}"),
            });
            let state = counted.map(|(state, _)| state).next().unwrap_or_default();
            return HourCell { state: state.to_owned(), words: words.collect::<Vec<_>>().join(", ") };
        }
        let (state, words) = if end <= self.now {
            match self.recorded_since {
                Some(since) if since < end => ("unrecorded", "nothing is recorded".to_owned()),
                _ => ("", String::new()),
            }
        } else if !is_computed {
            ("uncomputed", format!("not computed (more than {MAX_PLANNED} slots)"))
        } else {
            ("", String::new())
        };
        HourCell { state: state.to_owned(), words }
    }
}

/// Returns the word for the result of slots, or for their state if they have none.
fn word(tally: &SlotTally) -> &'static str {
    match (tally.health, tally.state) {
        (Some(ReconciliationHealth::Healthy), _) => "healthy",
        (Some(ReconciliationHealth::Repaired), _) => "repaired",
        (Some(ReconciliationHealth::Reported), _) | (None, SlotState::Started) => "started",
        (Some(ReconciliationHealth::Failed), _) => "failed",
        (Some(ReconciliationHealth::Waiting), _) => "waiting",
        (Some(ReconciliationHealth::Unknown), _) => "unknown",
        (Some(ReconciliationHealth::Cancelled), _) => "cancelled",
        (None, SlotState::Due | SlotState::Queued) => "due",
        (None, SlotState::Skipped) => "skipped",
        (None, SlotState::Blocked) => "blocked",
        (None, SlotState::Missed) => "missed",
    }
}

#[cfg(test)]
mod tests {
    use super::{HourTable, MAX_PLANNED};
    use wf_base::time::Moment;
    use wf_core::goal::{ReconciliationHealth, SlotState};
    use wf_model::schedule::{ScheduleZone, Slot};
    use wf_store::SlotTally;

    fn at(text: &str) -> Moment {
        Moment::parse(&format!("2026-11-{text}:00Z")).unwrap()
    }

    fn tally(from: &str, last: &str, count: u64, state: SlotState) -> SlotTally {
        SlotTally { quarter: at(from), last: at(last), count, state, health: None }
    }

    #[test]
    fn an_hour_shows_its_worst_slot_and_none_is_empty_without_a_reason() {
        let zone = ScheduleZone::utc();
        let (now, until) = (at("28T12:00"), at("30T23:59"));
        let mut table = HourTable::new(&zone, "2026-11".into(), now, Some(at("28T08:00")));
        table.add_hours(at("01T00:00"), until);
        let healthy = Some(ReconciliationHealth::Healthy);
        let failed = Some(ReconciliationHealth::Failed);
        table.add_tally(&SlotTally {
            health: healthy,
            ..tally("28T08:00", "28T08:14", 28, SlotState::Started)
        });
        table
            .add_tally(&SlotTally { health: failed, ..tally("28T08:15", "28T08:16", 2, SlotState::Started) });
        table.add_tally(&tally("28T09:45", "28T10:20", 70, SlotState::Missed));
        let slots = (1..).map(|second: i64| {
            let at = Moment::from_millis(now.millis() + second * 30_000);
            Slot { at, excluded: None, note: None, rule: 0 }
        });
        table.add_planned(slots, until);
        let day = |day| table.day(day).cells;
        let cells = day(28);
        let shown =
            |hour: usize| cells.get(hour).map(|cell| (cell.state.as_str(), cell.words.as_str())).unwrap();
        assert_eq!(shown(7), ("", ""), "it did not exist");
        assert_eq!(shown(8), ("failed", "2 failed, 28 healthy"));
        assert_eq!(shown(9), ("missed", "70 missed"));
        assert_eq!(shown(10), ("missed", "missed"));
        assert_eq!(shown(11), ("unrecorded", "nothing is recorded"));
        assert_eq!(shown(12), ("planned", "119 planned"));
        let last = day(30);
        let words = format!("not computed (more than {MAX_PLANNED} slots)");
        assert_eq!(last.last().map(|cell| cell.words.as_str()), Some(words.as_str()));
    }
}
