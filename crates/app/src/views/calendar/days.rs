use std::collections::BTreeMap;

use serde::Serialize;

use wf_base::time::Moment;
use wf_model::{
    Goal,
    schedule::{ScheduleZone, Slot},
};
use wf_store::{SlotRow, SlotTally};

use super::hours::{DayHours, HourTable};

/// The most slots of a day that are shown one by one. A goal with more is shown by the hour.
const DAY_SLOTS: usize = 24;

const DAY: i64 = 24 * 60 * 60 * 1000;

/// A month of a goal's slots, in the zone of the goal.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct CalendarMonth {
    /// The month: `2026-11`.
    pub month: String,
    /// The month before.
    pub earlier: String,
    /// The month after.
    pub later: String,
    pub zone: String,
    /// The weeks from Monday to Sunday; absent days belong to other months. None if the goal is shown by the hour.
    pub weeks: Vec<Vec<Option<CalendarDay>>>,
    /// The days of a goal that is due often, by the hour.
    pub hours: Vec<DayHours>,
    /// The first slot that is recorded; nothing is known of the time before it.
    pub recorded_since: Option<Moment>,
}

/// A month of a goal, before it is filled.
pub(in crate::views) struct CalendarPage<'g> {
    goal: &'g Goal,
    zone: &'g ScheduleZone,
    number: MonthNumber,
    now: Moment,
}

/// A day of a month.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CalendarDay {
    /// The number in the month.
    pub day: i64,
    /// The change of the clocks on this day, in words.
    pub clock_change: Option<String>,
    /// Its first slots.
    pub slots: Vec<CalendarSlot>,
    /// The number of unlisted slots.
    pub more: usize,
}

/// A slot of a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CalendarSlot {
    pub at: Moment,
    /// The time of day in its zone: `07:00`.
    pub local: String,
    /// The time of day in UTC.
    pub utc: String,
    /// The state: as the ledger has it, `excluded`, `planned`, or `unrecorded` if it is past and the ledger has nothing of it.
    pub state: String,
}

/// A number of a month since the year 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MonthNumber(i64);

impl MonthNumber {
    /// Reads `2026-11`; `None` if it is no month of the years 1970 to 9998.
    fn parse(text: &str) -> Option<Self> {
        let (year, month) = text.split_once('-')?;
        let (year, month): (i64, i64) = (year.parse().ok()?, month.parse().ok()?);
        ((1970..9999).contains(&year) && (1..=12).contains(&month)).then(|| Self(year * 12 + month - 1))
    }

    fn text(self) -> String {
        format!("{:04}-{:02}", self.0.div_euclid(12), self.0.rem_euclid(12) + 1)
    }

    /// Returns the days from the epoch to the first day.
    fn first_day(self) -> i64 {
        // Years begin in March, so that a leap day is the last one.
        let (year, month) = (self.0.div_euclid(12), self.0.rem_euclid(12) + 1);
        let year = if month <= 2 { year - 1 } else { year };
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let of_year = (153 * ((month + 9) % 12) + 2) / 5;
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
    }

    fn length(self) -> i64 {
        Self(self.0 + 1).first_day() - self.first_day()
    }
}

impl<'g> CalendarPage<'g> {
    /// Opens a month of a goal; the present one if the text is none.
    pub fn new(goal: &'g Goal, month: &str, now: Moment) -> Self {
        let zone = goal.timing.one_zone().unwrap_or(&goal.timing.zone);
        let today = zone.local(now).to_string();
        let present = today.get(..7).and_then(MonthNumber::parse).unwrap_or(MonthNumber(1970 * 12));
        Self { goal, zone, number: MonthNumber::parse(month).unwrap_or(present), now }
    }

    /// Returns a time that has all of the month, in whatever zone.
    pub fn span(&self) -> (Moment, Moment) {
        let (first, length) = (self.number.first_day(), self.number.length());
        // Clocks of zones differ from UTC by less than a day.
        (Moment::from_millis((first - 1) * DAY), Moment::from_millis((first + length + 1) * DAY))
    }

    /// True if the goal is due so often that its slots are not shown one by one.
    pub fn is_dense(&self) -> bool {
        let tomorrow = Moment::from_millis(self.now.millis() + DAY);
        self.goal.timing.slots(self.now, tomorrow).nth(DAY_SLOTS).is_some()
    }

    /// Returns the month by its days. The rows are those of the ledger in its span.
    pub fn by_day(&self, slot_rows: &[SlotRow], recorded_since: Option<Moment>) -> CalendarMonth {
        let (first, length) = (self.number.first_day(), self.number.length());
        let (from, until) = self.span();
        let mut days: BTreeMap<i64, CalendarDay> =
            (1..=length).map(|day| (day, day_of(self.zone, first + day - 1, day))).collect();
        let prefix = format!("{}-", self.number.text());
        // One more each day than is shown says that there are more.
        let most = (DAY_SLOTS + 1) * usize::try_from(length + 2).unwrap_or_default();
        for slot in self.goal.timing.slots(from, until).take(most) {
            let local = self.goal.timing.zone_of(&slot).local(slot.at).to_string();
            let day = local.strip_prefix(&prefix).and_then(|rest| rest.get(..2)?.parse().ok());
            let Some(day) = day.and_then(|day: i64| days.get_mut(&day)) else {
                continue;
            };
            if day.slots.len() < DAY_SLOTS {
                day.slots.push(CalendarSlot::of(&slot, &local, slot_rows, self.now));
            } else {
                day.more += 1;
            }
        }
        // The first day of the epoch was a Thursday.
        let blank = usize::try_from((first + 3).rem_euclid(7)).unwrap_or(0);
        let mut cells: Vec<Option<CalendarDay>> = vec![None; blank];
        cells.extend(days.into_values().map(Some));
        cells.resize(cells.len().next_multiple_of(7), None);
        let weeks = cells.chunks(7).map(<[_]>::to_vec).collect();
        CalendarMonth { weeks, ..self.empty(recorded_since) }
    }

    /// Returns the month by the hour. The tallies are those of the ledger in its span.
    pub fn by_hour(&self, tallies: &[SlotTally], recorded_since: Option<Moment>) -> CalendarMonth {
        let (from, until) = self.span();
        let mut table = HourTable::new(self.zone, self.number.text(), self.now, recorded_since);
        table.add_hours(from, until);
        for tally in tallies {
            table.add_tally(tally);
        }
        table.add_planned(self.goal.timing.slots(from.max(self.now), until), until);
        let hours = (1..=self.number.length()).map(|day| table.day(day)).collect();
        CalendarMonth { hours, ..self.empty(recorded_since) }
    }

    fn empty(&self, recorded_since: Option<Moment>) -> CalendarMonth {
        CalendarMonth {
            month: self.number.text(),
            earlier: MonthNumber(self.number.0 - 1).text(),
            later: MonthNumber(self.number.0 + 1).text(),
            zone: self.zone.name().to_owned(),
            weeks: Vec::new(),
            hours: Vec::new(),
            recorded_since,
        }
    }
}

/// Returns a day without slots.
fn day_of(zone: &ScheduleZone, since_epoch: i64, day: i64) -> CalendarDay {
    // Noon in UTC may be another day there; the change is sought on the local day of both.
    let date = |millis: i64| zone.local(Moment::from_millis(millis)).to_string();
    let noon = since_epoch * DAY + DAY / 2;
    let on_day = [noon, noon - DAY / 2, noon + DAY / 2]
        .into_iter()
        .find(|at| date(*at).get(8..10).and_then(|text| text.parse::<i64>().ok()) == Some(day));
    let change = on_day.and_then(|at| zone.change_on(Moment::from_millis(at)));
    let clock_change = change.map(|change| {
        let direction = if change.by > 0 { "forward" } else { "back" };
        format!("clocks go {direction} to {}", zone.local(change.at).clock_time())
    });
    CalendarDay { day, clock_change, ..CalendarDay::default() }
}

impl CalendarSlot {
    fn of(slot: &Slot, local: &str, slot_rows: &[SlotRow], now: Moment) -> Self {
        let row = slot_rows.iter().find(|row| row.slot <= slot.at && slot.at <= row.last);
        let state = match row {
            Some(row) => row.state.as_str(),
            None if slot.excluded.is_some() => "excluded",
            None if slot.at > now => "planned",
            None => "unrecorded",
        };
        Self {
            at: slot.at,
            local: local.get(11..16).unwrap_or_default().to_owned(),
            utc: slot.at.to_string().get(11..16).unwrap_or_default().to_owned(),
            state: state.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MonthNumber;

    #[test]
    fn what_is_no_month_is_none_however_long() {
        for text in
            ["2026-13", "2026-9223372036854775807", "9223372036854775807-1", "1-9223372036854775807", "x", ""]
        {
            assert_eq!(MonthNumber::parse(text), None, "{text}");
        }
        assert_eq!(MonthNumber::parse("2026-11").map(MonthNumber::text), Some("2026-11".into()));
    }
}
