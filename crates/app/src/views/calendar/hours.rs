//! The ledger of a goal by the hour: each says the worst that happened in it, and so does a day of them.
//!
//! **Invariant:** no hour is empty without a reason: one that was not computed, or of which nothing is recorded, says so.

use std::collections::BTreeMap;

use serde::Serialize;

use wf_base::time::Moment;
use wf_core::goal::{ReconciliationHealth, SlotState};
use wf_model::schedule::{GoalSchedule, ScheduleZone, Slot};
use wf_store::SlotTally;

use super::month::{date_text, day_number};

/// The most slots to come that are computed.
pub(super) const MAX_PLANNED: usize = 3_000;

/// A quarter of an hour, in milliseconds: the clocks of all zones differ by whole ones.
pub(super) const QUARTER: i64 = 15 * 60 * 1000;

/// A day of a month by the hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DayHours {
    /// The number in the month.
    pub day: i64,
    /// The hours from 0 to 23.
    pub cells: Vec<HourCell>,
}

/// The slots of an hour, or of a day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HourCell {
    /// The worst state of its slots; `uncomputed`, `unrecorded` or `before` if none is known; empty: there are none.
    pub state: String,
    /// Its slots by state, in words, or the reason why there are none: `118 started, 2 missed`.
    pub words: String,
    /// The address of its slots; absent: there are none.
    pub page: Option<String>,
}

impl HourCell {
    /// True if it has slots, or may have some.
    pub(super) fn has_slots(&self) -> bool {
        !matches!(self.state.as_str(), "" | "before")
    }
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

/// An hour of a day, as the clocks of a zone show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LocalHour {
    /// The days since the epoch.
    pub day: i64,
    pub hour: usize,
}

impl LocalHour {
    /// Reads `2026-11-28T08`.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, hour) = text.split_once('T')?;
        let hour = hour.parse().ok().filter(|hour| *hour < 24)?;
        Some(Self { day: day_number(date)?, hour })
    }

    pub fn text(self) -> String {
        format!("{}T{:02}", date_text(self.day), self.hour)
    }
}

/// The time of an hour or of a day. That of an hour is two hours long when clocks go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HourSpan {
    pub begin: Moment,
    pub end: Moment,
}

/// The numbers of slots by state. Zero: slots that were counted before reach into it.
type StateCounts = BTreeMap<&'static str, u64>;

/// The hours of a goal, while they are filled.
pub(in crate::views) struct HourTable<'g> {
    schedule: &'g GoalSchedule,
    zone: &'g ScheduleZone,
    now: Moment,
    recorded_since: Option<Moment>,
    counts: BTreeMap<LocalHour, StateCounts>,
    /// The hours that the days have: one is left out when clocks go forward.
    spans: BTreeMap<LocalHour, HourSpan>,
    /// The end of what was computed.
    computed_until: Moment,
}

impl<'g> HourTable<'g> {
    pub fn new(
        schedule: &'g GoalSchedule,
        zone: &'g ScheduleZone,
        now: Moment,
        recorded_since: Option<Moment>,
    ) -> Self {
        let (counts, spans) = (BTreeMap::new(), BTreeMap::new());
        Self { schedule, zone, now, recorded_since, counts, spans, computed_until: now }
    }

    /// Notes when the ledger begins.
    pub fn note_first_record(&mut self, first: Option<Moment>) {
        self.recorded_since = first;
    }

    /// Returns the hour of an instant; `None`: it is of no year that is shown.
    fn hour_of(&self, at: Moment) -> Option<LocalHour> {
        let local = self.zone.local(at).to_string();
        Some(LocalHour { day: day_number(local.get(..10)?)?, hour: local.get(11..13)?.parse().ok()? })
    }

    /// Adds the hours between two instants, without slots.
    pub fn add_hours(&mut self, from: Moment, until: Moment) {
        let mut at = from;
        while at < until {
            let next = Moment::from_millis(at.millis() + QUARTER);
            if let Some(hour) = self.hour_of(at) {
                self.spans.entry(hour).or_insert(HourSpan { begin: at, end: next }).end = next;
            }
            at = next;
        }
    }

    /// Counts slots of one state; where they reach beyond an hour, those after it have the state, too.
    pub fn add_tally(&mut self, tally: &SlotTally) {
        let mut spans = self.spans.values();
        let Some(first) = spans.next() else {
            return;
        };
        let (from, until) = (first.begin, spans.next_back().unwrap_or(first).end);
        let state = slot_word(tally.health, tally.state);
        self.count(tally.quarter, state, tally.count);
        // Slots in a row may reach over years: only the hours of the table are walked.
        let begin = from.millis().div_euclid(QUARTER) * QUARTER;
        let mut at = Moment::from_millis((tally.quarter.millis() + QUARTER).max(begin));
        while at <= tally.last && at < until {
            self.count(at, state, 0);
            at = Moment::from_millis(at.millis() + QUARTER);
        }
    }

    fn count(&mut self, at: Moment, state: &'static str, count: u64) {
        if let Some(hour) = self.hour_of(at).filter(|hour| self.spans.contains_key(hour)) {
            *self.counts.entry(hour).or_default().entry(state).or_default() += count;
        }
    }

    /// Counts the slots to come until an instant, or the first of them.
    pub fn add_planned(&mut self, until: Moment) {
        let begin = self.spans.values().next().map_or(self.now, |span| span.begin);
        let from = Moment::from_millis(begin.millis() - 1).max(self.now);
        self.computed_until = until;
        let schedule = self.schedule;
        for (number, slot) in schedule.slots(from, until).enumerate() {
            if number == MAX_PLANNED {
                self.computed_until = slot.at;
                return;
            }
            self.count(slot.at, planned_word(&slot), 1);
        }
    }

    /// Returns the time of an hour; `None`: the table does not have it.
    pub fn span(&self, hour: LocalHour) -> Option<HourSpan> {
        self.spans.get(&hour).copied()
    }

    /// Returns the hours of a day.
    pub fn hours(&self, day: i64) -> Vec<HourCell> {
        (0..24).map(|hour| self.hour(LocalHour { day, hour })).collect()
    }

    fn hour(&self, hour: LocalHour) -> HourCell {
        let Some(span) = self.span(hour) else {
            return HourCell { words: "left out: the clocks go forward".to_owned(), ..HourCell::default() };
        };
        let none = StateCounts::new();
        let cell = self.cell(self.counts.get(&hour).unwrap_or(&none), span);
        HourCell { page: cell.has_slots().then(|| format!("?hour={}#hour", hour.text())), ..cell }
    }

    /// Returns a day as one cell, up to now; `None`: the table does not have it.
    pub fn past_day(&self, day: i64) -> Option<HourCell> {
        let (counts, span) = self.day(day)?;
        Some(self.cell(&counts, HourSpan { end: span.end.min(self.now.max(span.begin)), ..span }))
    }

    /// Returns a day as one cell, with what is to come; `None`: the table does not have it.
    pub fn whole_day(&self, day: i64) -> Option<HourCell> {
        let (counts, span) = self.day(day)?;
        Some(self.cell(&counts, span))
    }

    fn day(&self, day: i64) -> Option<(StateCounts, HourSpan)> {
        let hours = LocalHour { day, hour: 0 }..=LocalHour { day, hour: 23 };
        let mut spans = self.spans.range(hours.clone()).map(|(_, span)| *span);
        let first = spans.next()?;
        let last = spans.next_back().unwrap_or(first);
        let mut counts = StateCounts::new();
        for (state, count) in self.counts.range(hours).flat_map(|(_, counts)| counts) {
            *counts.entry(*state).or_default() += count;
        }
        Some((counts, HourSpan { begin: first.begin, end: last.end }))
    }

    fn cell(&self, counts: &StateCounts, span: HourSpan) -> HourCell {
        let is_computed = span.end <= self.computed_until.max(self.now);
        let (mut state, mut words) = (worst(counts).to_owned(), state_words(counts));
        if !is_computed {
            let cut = format!("not computed (more than {MAX_PLANNED} slots)");
            words = if words.is_empty() { cut } else { format!("{words}; {cut}") };
            if matches!(state.as_str(), "" | "planned" | "skipped") {
                "uncomputed".clone_into(&mut state);
            }
        } else if counts.is_empty() {
            (state, words) = self.reason_for_none(span);
        }
        HourCell { state, words, page: None }
    }

    /// Returns the state and the words for a time without slots.
    fn reason_for_none(&self, span: HourSpan) -> (String, String) {
        let before = Moment::from_millis(span.begin.millis() - 1);
        let last = Moment::from_millis(span.end.millis() - 1);
        let (state, words) = if span.begin >= self.now {
            ("", "nothing is due")
        } else if self.recorded_since.is_none_or(|since| span.end <= since) {
            ("before", "before its first record")
        } else if self.schedule.slots(before, last.min(self.now)).next().is_some() {
            ("unrecorded", "nothing is recorded")
        } else {
            ("", "nothing was due")
        };
        (state.to_owned(), words.to_owned())
    }
}

/// Returns the worst state of slots; empty: there are none.
fn worst(counts: &StateCounts) -> &'static str {
    STATES.into_iter().find(|state| counts.contains_key(state)).unwrap_or_default()
}

/// Returns the place of a state among all, the worst first.
pub(super) fn severity(state: &str) -> usize {
    STATES.iter().position(|one| *one == state).unwrap_or(STATES.len())
}

/// Returns the numbers of slots by state, the worst first: `2 failed, 28 healthy`.
pub(super) fn state_words(counts: &StateCounts) -> String {
    let counted = STATES.iter().filter_map(|state| Some((state, counts.get(state)?)));
    let words = counted.map(|(state, count)| match count {
        0 => (*state).to_owned(),
        _ => format!("{count} {state}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Returns the word for the result of a slot, or for its state if it has none.
pub(in crate::views) fn slot_word(health: Option<ReconciliationHealth>, state: SlotState) -> &'static str {
    match (health, state) {
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

/// Returns the word for a slot that is still to come.
fn planned_word(slot: &Slot) -> &'static str {
    if slot.excluded.is_some() { "skipped" } else { "planned" }
}
