use std::collections::BTreeMap;

use serde::Serialize;

use wf_base::time::Moment;
use wf_model::schedule::{GoalSchedule, ScheduleZone};
use wf_store::SlotTally;

use super::{
    hours::{DayHours, HourTable, LocalHour},
    month::{DAY, MonthNumber, day_number},
    slots::{CalendarSlot, LedgerSlot, SlotList, SlotMerge},
};

/// The most slots of a day that are shown one by one. A month with more in one of its days is shown by the hour.
const DAY_SLOTS: usize = 24;

/// The most slots of an hour that are listed.
const HOUR_SLOTS: usize = 100;

/// A month of a goal's slots, in the zone of the goal.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct CalendarMonth {
    /// The month: `2026-11`.
    pub month: String,
    /// The month before; absent: it cannot be shown.
    pub earlier: Option<String>,
    /// The month after; absent: it cannot be shown.
    pub later: Option<String>,
    pub zone: String,
    /// The weeks from Monday to Sunday; absent days belong to other months. None if the month is shown by the hour.
    pub weeks: Vec<Vec<Option<CalendarDay>>>,
    /// The days of a month with many slots, by the hour.
    pub hours: Vec<DayHours>,
    /// The first slot that is recorded; nothing is known of the time before it.
    pub recorded_since: Option<Moment>,
}

/// A day of a month.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CalendarDay {
    /// The number in the month.
    pub day: i64,
    /// The change of the clocks on this day, in words.
    pub clock_change: Option<String>,
    pub slots: Vec<CalendarSlot>,
    /// The unlisted slots by state, in words.
    pub more: String,
}

/// The slots of an hour, one by one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HourSlots {
    /// The hour: `2026-11-28 08`.
    pub hour: String,
    pub slots: Vec<CalendarSlot>,
    /// The unlisted slots by state, in words.
    pub more: String,
}

/// A month of a goal, before it is filled.
pub(in crate::views) struct CalendarPage<'g> {
    merge: SlotMerge<'g>,
    number: MonthNumber,
}

impl<'g> CalendarPage<'g> {
    /// Opens a month of a goal; the present one if the text is none.
    pub fn new(schedule: &'g GoalSchedule, month: &str, now: Moment, recorded_since: Option<Moment>) -> Self {
        let zone = calendar_zone(schedule);
        let today = zone.local(now).to_string();
        let present = today.get(..7).and_then(MonthNumber::parse).unwrap_or(MonthNumber::FIRST);
        let number = MonthNumber::parse(month).unwrap_or(present);
        Self { merge: SlotMerge { schedule, zone, now, recorded_since }, number }
    }

    /// Returns a time that has all of the month, in whatever zone.
    pub fn span(&self) -> (Moment, Moment) {
        let (first, length) = (self.number.first_day(), self.number.length());
        // Clocks of zones differ from UTC by less than a day.
        (Moment::from_millis((first - 1) * DAY), Moment::from_millis((first + length + 1) * DAY))
    }

    fn day_of(&self, local: &str) -> Option<i64> {
        let day = day_number(local.get(..10)?)? - self.number.first_day() + 1;
        (1..=self.number.length()).contains(&day).then_some(day)
    }

    /// True if a day of the month has more slots than are shown one by one: scheduled ones, or those of the ledger.
    pub fn is_dense(&self, tallies: &[SlotTally]) -> bool {
        let (from, until) = self.span();
        let SlotMerge { schedule, zone, .. } = self.merge;
        let days = usize::try_from(self.number.length() + 2).unwrap_or_default();
        let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
        // So many more than the days can have that one of them has too many.
        for (number, slot) in schedule.slots(from, until).enumerate() {
            if number >= days * DAY_SLOTS {
                return true;
            }
            if let Some(day) = self.day_of(&schedule.zone_of(&slot).local(slot.at).to_string()) {
                *counts.entry(day).or_default() += 1;
            }
        }
        let mut recorded: BTreeMap<i64, usize> = BTreeMap::new();
        for tally in tallies {
            let (first, last) = (tally.quarter.millis().div_euclid(DAY), tally.last.millis().div_euclid(DAY));
            // Many slots in a row that were left out are one entry.
            let of_day = tally.count.div_ceil((last - first).unsigned_abs() + 1);
            let of_day = usize::try_from(of_day).unwrap_or(usize::MAX);
            let local = |day: i64| zone.local(tally.quarter.max(Moment::from_millis(day * DAY))).to_string();
            let shown = first.max(self.number.first_day() - 1)..=last.min(self.number.first_day() + 32);
            for day in shown.filter_map(|day| self.day_of(&local(day))) {
                let count = recorded.entry(day).or_default();
                *count = count.saturating_add(of_day);
            }
        }
        counts.values().chain(recorded.values()).any(|count| *count > DAY_SLOTS)
    }

    /// Returns the month by its days. The entries are those of the ledger in its span, in order.
    pub fn by_day(&self, ledger: &[LedgerSlot]) -> CalendarMonth {
        let (first, length) = (self.number.first_day(), self.number.length());
        let (from, until) = self.span();
        let SlotMerge { schedule, zone, .. } = self.merge;
        let mut of_days: BTreeMap<i64, Vec<CalendarSlot>> = BTreeMap::new();
        for slot in self.merge.slots(schedule.slots(from, until), ledger) {
            // A slot of the schedule belongs to the day of its own rule.
            if let Some(day) = self.day_of(&schedule.zone_at(slot.at).local(slot.at).to_string()) {
                of_days.entry(day).or_default().push(slot);
            }
        }
        // The first day of the epoch was a Thursday.
        let blank = usize::try_from((first + 3).rem_euclid(7)).unwrap_or(0);
        let mut cells: Vec<Option<CalendarDay>> = vec![None; blank];
        cells.extend((1..=length).map(|day| {
            let SlotList { slots, more } = SlotList::of(of_days.remove(&day).unwrap_or_default(), DAY_SLOTS);
            let clock_change = clock_change(zone, first + day - 1, day);
            Some(CalendarDay { day, clock_change, slots, more })
        }));
        cells.resize(cells.len().next_multiple_of(7), None);
        let weeks = cells.chunks(7).map(<[_]>::to_vec).collect();
        CalendarMonth { weeks, ..self.empty() }
    }

    /// Returns the month by the hour. The tallies are those of the ledger in its span.
    pub fn by_hour(&self, tallies: &[SlotTally]) -> CalendarMonth {
        let (from, until) = self.span();
        let SlotMerge { schedule, zone, now, recorded_since } = self.merge;
        let mut table = HourTable::new(schedule, zone, now, recorded_since);
        table.add_hours(from, until);
        for tally in tallies {
            table.add_tally(tally);
        }
        table.add_planned(until);
        let first = self.number.first_day();
        let days = 1..=self.number.length();
        let hours = days.map(|day| DayHours { day, cells: table.hours(first + day - 1) }).collect();
        CalendarMonth { hours, ..self.empty() }
    }

    fn empty(&self) -> CalendarMonth {
        CalendarMonth {
            month: self.number.text(),
            earlier: self.number.before().map(MonthNumber::text),
            later: self.number.after().map(MonthNumber::text),
            zone: self.merge.zone.name().to_owned(),
            recorded_since: self.merge.recorded_since,
            ..CalendarMonth::default()
        }
    }
}

/// An hour of a goal, before its slots are listed.
pub(in crate::views) struct CalendarHour<'g> {
    merge: SlotMerge<'g>,
    hour: LocalHour,
    begin: Moment,
    end: Moment,
}

impl<'g> CalendarHour<'g> {
    /// Opens an hour of a goal: `2026-11-28T08`, as the clocks of its zone show it; `None` if the text is none.
    pub fn new(
        schedule: &'g GoalSchedule,
        text: &str,
        now: Moment,
        recorded_since: Option<Moment>,
    ) -> Option<Self> {
        let (hour, zone) = (LocalHour::parse(text)?, calendar_zone(schedule));
        let mut table = HourTable::new(schedule, zone, now, None);
        let around = |days: i64| Moment::from_millis((hour.day + days) * DAY);
        table.add_hours(around(-1), around(2));
        let span = table.span(hour)?;
        let merge = SlotMerge { schedule, zone, now, recorded_since };
        Some(Self { merge, hour, begin: span.begin, end: Moment::from_millis(span.end.millis() - 1) })
    }

    /// Returns its month: `2026-11`.
    pub fn month(&self) -> String {
        self.hour.text().get(..7).unwrap_or_default().to_owned()
    }

    /// Returns its first and its last instant.
    pub fn span(&self) -> (Moment, Moment) {
        (self.begin, self.end)
    }

    /// Returns its slots. The entries are those of the ledger in its span, in order.
    pub fn slots(&self, ledger: &[LedgerSlot]) -> HourSlots {
        let before = Moment::from_millis(self.begin.millis() - 1);
        let slots = self.merge.slots(self.merge.schedule.slots(before, self.end), ledger);
        let SlotList { slots, more } = SlotList::of(slots, HOUR_SLOTS);
        HourSlots { hour: self.hour.text().replace('T', " "), slots, more }
    }
}

/// Returns the zone in which the slots of a goal are shown.
pub(super) fn calendar_zone(schedule: &GoalSchedule) -> &ScheduleZone {
    schedule.one_zone().unwrap_or(&schedule.zone)
}

/// Returns the change of the clocks on a day, in words.
fn clock_change(zone: &ScheduleZone, since_epoch: i64, day: i64) -> Option<String> {
    // Noon in UTC may be another day there; the change is sought on the local day of both.
    let date = |millis: i64| zone.local(Moment::from_millis(millis)).to_string();
    let noon = since_epoch * DAY + DAY / 2;
    let on_day = [noon, noon - DAY / 2, noon + DAY / 2]
        .into_iter()
        .find(|at| date(*at).get(8..10).and_then(|text| text.parse::<i64>().ok()) == Some(day));
    let change = on_day.and_then(|at| zone.change_on(Moment::from_millis(at)))?;
    let direction = if change.by > 0 { "forward" } else { "back" };
    Some(format!("clocks go {direction} to {}", zone.local(change.at).clock_time()))
}
