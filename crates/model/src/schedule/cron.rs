use std::{fmt, str::FromStr};

use jiff::{
    SignedDuration,
    civil::{Date, DateTime, Time},
};
use wf_base::text_form;

use super::{
    BadCron,
    days::{CronDays, has, lowest},
};

/// An expression for the seconds of the days at which something is due: wall clock times, in no
/// zone yet.
///
/// The grammar is documented in `docs/goals.md`. **Invariant:** it is due at some time; an
/// expression that never is cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// Returns the first time that is not before `from`.
    pub(super) fn next(&self, from: DateTime) -> Option<DateTime> {
        let day = self.day(from.date())?;
        let today = if day == from.date() { self.time(from.time()) } else { self.time(Time::midnight()) };
        match today {
            Some(time) => Some(day.to_datetime(time)),
            None => self.next(day.tomorrow().ok()?.to_datetime(Time::midnight())),
        }
    }

    /// Returns the first time after `before`, which is one of its times. Cheaper than [`Self::next`], since its day
    /// need not be checked again.
    pub(super) fn after(&self, before: DateTime) -> Option<DateTime> {
        let later = before.time().checked_add(SignedDuration::from_secs(1)).ok();
        match later.and_then(|later| self.time(later)) {
            Some(time) => Some(before.date().to_datetime(time)),
            None => self.next(before.date().tomorrow().ok()?.to_datetime(Time::midnight())),
        }
    }

    /// Returns the first of its days from `day` on.
    pub(super) fn day(&self, day: Date) -> Option<Date> {
        let mut from = day;
        loop {
            if has(self.months, from.month())
                && let Some(day) = lowest(self.days.mask(from.first_of_month()), from.day())
            {
                return Date::new(from.year(), from.month(), day).ok();
            }
            from = from.last_of_month().tomorrow().ok()?;
        }
    }

    /// Returns the first of its times of day from `from` on.
    pub(super) fn time(&self, from: Time) -> Option<Time> {
        let time = |hour, minute, second| Time::new(hour, minute, second, 0).ok();
        let (hour, minute) = (from.hour(), from.minute());
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(second) = lowest(self.seconds, from.second())
            {
                return time(hour, minute, second);
            }
            if let Some(minute) = lowest(self.minutes, minute + 1) {
                return time(hour, minute, lowest(self.seconds, 0)?);
            }
        }
        let hour = lowest(self.hours, hour + 1)?;
        time(hour, lowest(self.minutes, 0)?, lowest(self.seconds, 0)?)
    }
}

impl FromStr for CronExpression {
    type Err = BadCron;

    fn from_str(text: &str) -> Result<Self, BadCron> {
        Self::parse(text)
    }
}

text_form!(CronExpression);

/// Writes the expression as it was given.
impl fmt::Display for CronExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
