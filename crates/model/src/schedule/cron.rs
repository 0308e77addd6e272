use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::BadCron;
use super::civil::{DAY, LAST_YEAR, date_of, days_to_month, month_len, weekday};
use super::days::{CronDays, has, lowest};

/// An expression for the seconds of the days at which something is due: wall clock times, in no
/// zone yet.
///
/// The grammar is documented in `docs/goals.md`. **Invariant:** it is due at some time; an
/// expression that never is cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CronExpression {
    pub(super) text: String,
    pub(super) seconds: u64,
    pub(super) minutes: u64,
    pub(super) hours: u64,
    pub(super) months: u64,
    pub(super) days: CronDays,
    pub(super) interval: bool,
}

impl CronExpression {
    /// Reads an expression of five or six fields, or a macro like `@daily`.
    pub fn parse(text: &str) -> Result<Self, BadCron> {
        super::parse::parse(text)
    }

    /// True if it stands for an interval ("every ten minutes") and not for times of the day: a `*`,
    /// a range or a step in its seconds, minutes or hours.
    pub fn is_interval(&self) -> bool {
        self.interval
    }

    /// Returns the first time that is not before `from`; both in seconds since 1970-01-01T00:00.
    pub(super) fn next(&self, from: i64) -> Option<i64> {
        let (day, time) = (from.div_euclid(DAY), from.rem_euclid(DAY));
        if self.on(day)
            && let Some(time) = self.time(time)
        {
            return Some(day * DAY + time);
        }
        self.day(day + 1).map(|day| day * DAY + self.time(0).unwrap_or(0))
    }

    /// Returns the first time after `before`, which is one of its times. Cheaper than
    /// [`Self::next`], since its day need not be checked again.
    pub(super) fn after(&self, before: i64) -> Option<i64> {
        let (day, time) = (before.div_euclid(DAY), before.rem_euclid(DAY));
        match self.time(time + 1) {
            Some(time) => Some(day * DAY + time),
            None => self.next((day + 1) * DAY),
        }
    }

    /// True if this day is one of its days.
    fn on(&self, day: i64) -> bool {
        let (year, month, date) = date_of(day);
        has(self.months, month) && has(self.month(year, month), date)
    }

    /// Returns its days in a month, as bits.
    fn month(&self, year: i64, month: i64) -> u64 {
        let first = weekday(days_to_month(year, month));
        self.days.mask(first, month_len(year, month))
    }

    /// Returns the first of its days from `day` on. Months that have none are skipped.
    pub(super) fn day(&self, day: i64) -> Option<i64> {
        let (mut year, mut month, mut from) = date_of(day);
        while year <= LAST_YEAR {
            if let Some(next) = lowest(self.months, month).filter(|next| *next <= 12) {
                if next > month {
                    (month, from) = (next, 1);
                }
                if let Some(date) = lowest(self.month(year, month), from) {
                    return Some(days_to_month(year, month) + date - 1);
                }
                (month, from) = (month + 1, 1);
            } else {
                (year, month, from) = (year + 1, 1, 1);
            }
        }
        None
    }

    /// Returns the first of its times of day from `from` on, in seconds since midnight.
    pub(super) fn time(&self, from: i64) -> Option<i64> {
        let (hour, minute, second) = (from / 3_600, from / 60 % 60, from % 60);
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(second) = lowest(self.seconds, second)
            {
                return Some(hour * 3_600 + minute * 60 + second);
            }
            if let Some(minute) = lowest(self.minutes, minute + 1) {
                return Some(hour * 3_600 + minute * 60 + lowest(self.seconds, 0)?);
            }
        }
        let hour = lowest(self.hours, hour + 1)?;
        Some(hour * 3_600 + lowest(self.minutes, 0)? * 60 + lowest(self.seconds, 0)?)
    }
}

impl FromStr for CronExpression {
    type Err = BadCron;

    fn from_str(text: &str) -> Result<Self, BadCron> {
        Self::parse(text)
    }
}

impl TryFrom<String> for CronExpression {
    type Error = BadCron;

    fn try_from(text: String) -> Result<Self, BadCron> {
        Self::parse(&text)
    }
}

impl From<CronExpression> for String {
    fn from(cron: CronExpression) -> Self {
        cron.text
    }
}

/// Writes the expression as it was given.
impl fmt::Display for CronExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
