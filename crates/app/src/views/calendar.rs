use std::collections::BTreeMap;

use serde::Serialize;

use wf_base::time::Moment;
use wf_model::{
    Goal,
    schedule::{ScheduleZone, Slot},
};
use wf_store::SlotRow;

/// The most slots of a day that are shown one by one.
const DAY_SLOTS: usize = 6;

/// The most slots of a month that are looked at.
const MONTH_SLOTS: usize = 50_000;

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
    /// The weeks from Monday to Sunday; absent days belong to other months.
    pub weeks: Vec<Vec<Option<CalendarDay>>>,
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
    /// The number of slots that are not listed.
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
        ((1970..9999).contains(&year) && (1..=12).contains(&month)).then_some(Self(year * 12 + month - 1))
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

/// Returns a month of a goal; the present one if the text is none. The rows are those of the ledger.
pub fn calendar(goal: &Goal, slot_rows: &[SlotRow], month: &str, now: Moment) -> CalendarMonth {
    let zone = goal.timing.one_zone().unwrap_or(&goal.timing.zone);
    let today = zone.local(now).to_string();
    let present = today.get(..7).and_then(MonthNumber::parse).unwrap_or(MonthNumber(1970 * 12));
    let number = MonthNumber::parse(month).unwrap_or(present);
    let (first, length) = (number.first_day(), number.length());
    // Clocks of zones differ from UTC by less than a day.
    let (from, until) =
        (Moment::from_millis((first - 1) * DAY), Moment::from_millis((first + length + 1) * DAY));
    let mut days: BTreeMap<i64, CalendarDay> =
        (1..=length).map(|day| (day, day_of(zone, first + day - 1, day))).collect();
    let prefix = format!("{}-", number.text());
    for slot in goal.timing.slots(from, until).take(MONTH_SLOTS) {
        let local = goal.timing.zone_of(&slot).local(slot.at).to_string();
        let day = local.strip_prefix(&prefix).and_then(|rest| rest.get(..2)?.parse().ok());
        let Some(day) = day.and_then(|day: i64| days.get_mut(&day)) else {
            continue;
        };
        if day.slots.len() < DAY_SLOTS {
            day.slots.push(CalendarSlot::of(&slot, &local, slot_rows, now));
        } else {
            day.more += 1;
        }
    }
    // The first day of the epoch was a Thursday.
    let blank = usize::try_from((first + 3).rem_euclid(7)).unwrap_or(0);
    let mut cells: Vec<Option<CalendarDay>> = vec![None; blank];
    cells.extend(days.into_values().map(Some));
    cells.resize(cells.len().next_multiple_of(7), None);
    CalendarMonth {
        month: number.text(),
        earlier: MonthNumber(number.0 - 1).text(),
        later: MonthNumber(number.0 + 1).text(),
        zone: zone.name().to_owned(),
        weeks: cells.chunks(7).map(<[_]>::to_vec).collect(),
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
