//! The search for a scheduled time outside of exclusions, in bounded time: the remaining days and windows
//! are found on the calendar, not one scheduled time after another.
//!
//! Windows repeat each week, and the calendar every 400 years. So a rule without an open time in the 400
//! years after the last day excluded by date has none at all.

use std::ops::RangeInclusive;

use jiff::{
    Timestamp, ToSpan as _,
    civil::{Date, Time},
    tz::Offset,
};

use super::{
    ClockTime, CronExpression, GoalSchedule, ScheduleExclusion, Slot, TimingRule, Weekday,
    civil::{DAY, time_of_day},
    zone::{FIRST, LAST, timestamp},
};
use wf_base::{keyword::Keyword, time::Moment};

impl GoalSchedule {
    /// Returns a scheduled time that is not excluded, if there is one.
    pub fn find_open_slot(&self) -> Option<Slot> {
        self.rules.iter().find_map(|rule| {
            let alone = Self { rules: vec![rule.clone()], ..self.clone() };
            match rule {
                TimingRule::Cron { expression, .. } => alone.open_slot_of(expression),
                TimingRule::At { .. } => {
                    alone.open_slot(Moment::from_millis(i64::MIN), Moment::from_millis(i64::MAX))
                }
            }
        })
    }

    /// Returns an open slot of the only rule, which is this one.
    fn open_slot_of(&self, cron: &CronExpression) -> Option<Slot> {
        let date = |at: Option<Moment>, or: i64| {
            let second = at.map_or(or, |at| at.millis().div_euclid(1_000));
            Offset::UTC.to_datetime(timestamp(second.clamp(FIRST, LAST))).date()
        };
        // No zone is further from UTC than a day.
        let first = date(self.active_from, FIRST).saturating_sub(1.day());
        let mut closed: Vec<(Date, Date)> = self
            .exclude
            .iter()
            .filter_map(ScheduleExclusion::dates)
            .map(RangeInclusive::into_inner)
            .collect();
        closed.sort_unstable();
        let named = closed.iter().map(|(_, until)| *until).max();
        let last = named.map_or(first, |named| named.max(first)).saturating_add(400.years());
        let last = last.min(date(self.active_until, LAST).saturating_add(1.day()));

        let mut closed = closed.into_iter().peekable();
        let mut closed_until = None;
        let open_weekdays: Vec<Weekday> =
            Weekday::ALL.iter().copied().filter(|day| is_open(cron, &self.exclude, *day)).collect();
        let mut next = cron.day(first);
        while let Some(day) = next.filter(|day| *day <= last) {
            while let Some((_, until)) = closed.next_if(|(from, _)| *from <= day) {
                closed_until = closed_until.max(Some(until));
            }
            let is_closed = closed_until.filter(|until| day <= *until);
            // Clocks may skip an open time.
            if is_closed.is_none()
                && open_weekdays.contains(&Weekday::from_date(day))
                && let Some(slot) = self
                    .open_slot(midnight(day.saturating_sub(1.day())), midnight(day.saturating_add(2.days())))
            {
                return Some(slot);
            }
            next = cron.day(is_closed.unwrap_or(day).tomorrow().ok()?);
        }
        None
    }

    fn open_slot(&self, after: Moment, until: Moment) -> Option<Slot> {
        self.slots(after, until).find(|slot| slot.excluded.is_none())
    }
}

/// Returns the instant when a day begins in UTC.
fn midnight(day: Date) -> Moment {
    let begin = Offset::UTC.to_timestamp(day.to_datetime(Time::midnight()));
    Moment::from_millis(begin.map_or(i64::MAX, Timestamp::as_millisecond))
}

/// True if the windows leave any time of an expression open on a day of the week.
fn is_open(cron: &CronExpression, exclude: &[ScheduleExclusion], weekday: Weekday) -> bool {
    let mut windows: Vec<_> =
        exclude.iter().flat_map(|exclusion| exclusion.windows(weekday)).flatten().collect();
    windows.sort_unstable_by_key(|window| window.start);
    let is_due = |from: i32, until: i32| {
        let next = time_of_day(from).and_then(|from| cron.time(from));
        next.is_some_and(|next| ClockTime::from(next).seconds() < until)
    };
    let mut closed_until = 0;
    for window in windows {
        if is_due(closed_until, window.start) {
            return true;
        }
        closed_until = closed_until.max(window.end);
    }
    is_due(closed_until, DAY)
}
