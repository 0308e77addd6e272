//! The search for a scheduled time that is not excluded, in bounded time: the days and windows that are left
//! are found on the calendar, not one scheduled time after another.
//!
//! Windows repeat each week, and the calendar every 400 years. So a rule that has no free time in the 400
//! years after the last day excluded by date has none at all.

use super::civil::{DAY, weekday};
use super::zone::{FIRST, LAST};
use super::{CronExpression, GoalSchedule, ScheduleExclusion, Slot, TimingRule, Weekday};
use wf_base::time::Moment;

/// The days after which the calendar repeats; they are whole weeks.
const CALENDAR: i64 = 146_097;

impl GoalSchedule {
    /// Returns a scheduled time that is not excluded, if there is one.
    pub fn free(&self) -> Option<Slot> {
        let rules = self.rules.iter();
        let mut found = rules.filter_map(|rule| {
            let alone = Self { rules: vec![rule.clone()], ..self.clone() };
            match rule {
                TimingRule::Cron { expression, .. } => alone.free_of(expression),
                TimingRule::At { .. } => alone.free_between(i64::MIN, i64::MAX),
            }
        });
        found.next()
    }

    /// Returns a free scheduled time of the only rule, which is this one.
    fn free_of(&self, cron: &CronExpression) -> Option<Slot> {
        let second = |at: Option<Moment>, or: i64| {
            at.map_or(or, |at| at.millis().div_euclid(1_000)).clamp(FIRST, LAST)
        };
        // No zone is further from UTC than a day.
        let first = second(self.active_from, FIRST).div_euclid(DAY) - 1;
        let last = second(self.active_until, LAST).div_euclid(DAY) + 1;
        let spans = spans(&self.exclude);
        let named = spans.last().map_or(first, |(_, until)| first.max(*until));
        let last = last.min(named.saturating_add(CALENDAR));
        let week: Vec<bool> = Weekday::ALL.into_iter().map(|day| is_free(cron, &self.exclude, day)).collect();
        let mut next = cron.day(first);
        while let Some(day) = next.filter(|day| *day <= last) {
            let before = spans.partition_point(|(from, _)| *from <= day);
            let span = before.checked_sub(1).and_then(|at| spans.get(at));
            if let Some((_, until)) = span.filter(|(_, until)| day <= *until) {
                next = cron.day(until + 1);
                continue;
            }
            let is_free = usize::try_from(weekday(day)).is_ok_and(|at| week.get(at) == Some(&true));
            // Clocks may skip a free time.
            if is_free && let Some(slot) = self.free_between((day - 1) * DAY, (day + 2) * DAY) {
                return Some(slot);
            }
            next = cron.day(day + 1);
        }
        None
    }

    fn free_between(&self, from: i64, until: i64) -> Option<Slot> {
        let at = |second: i64| Moment::from_millis(second.saturating_mul(1_000));
        let mut slots = self.slots(at(from), at(until));
        slots.find(|slot| slot.excluded.is_none())
    }
}

/// Returns the days excluded by date as spans of the first and last day: in order, none touching another.
fn spans(exclude: &[ScheduleExclusion]) -> Vec<(i64, i64)> {
    let named = exclude.iter().filter_map(|one| match one {
        ScheduleExclusion::Date(date) => Some((date.days(), date.days())),
        ScheduleExclusion::Dates { from, until } => Some((from.days(), until.days())),
        ScheduleExclusion::Daily { .. } => None,
    });
    let mut all: Vec<(i64, i64)> = named.collect();
    all.sort_unstable();
    let mut spans: Vec<(i64, i64)> = Vec::new();
    for (from, until) in all {
        match spans.last_mut() {
            Some((_, end)) if from <= *end + 1 => *end = until.max(*end),
            _ => spans.push((from, until)),
        }
    }
    spans
}

/// True if the windows leave any time of an expression free on a day of the week.
fn is_free(cron: &CronExpression, exclude: &[ScheduleExclusion], day: Weekday) -> bool {
    let mut windows = Vec::new();
    for one in exclude {
        let ScheduleExclusion::Daily { from, until, on } = one else {
            continue;
        };
        let begins = |day: Weekday| on.is_empty() || on.contains(&day);
        let (from, until) = (from.seconds(), until.seconds());
        let until = if until > from { until } else { until + DAY };
        if begins(day) {
            windows.push((from, until));
        }
        if begins(day.previous_day()) {
            windows.push((from - DAY, until - DAY));
        }
    }
    windows.sort_unstable();
    let mut free = 0;
    for (from, until) in windows {
        if cron.time(free).is_some_and(|time| time < from) {
            return true;
        }
        free = free.max(until);
    }
    free < DAY && cron.time(free).is_some()
}
