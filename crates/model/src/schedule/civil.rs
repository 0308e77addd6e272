//! Dates and times as a wall clock shows them: no zone, the Gregorian calendar.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The seconds of a day of 24 hours.
pub(super) const DAY: i64 = 86_400;

/// The last year supported.
pub(super) const LAST_YEAR: i64 = 9_999;

/// A text that is not a date or time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCivil {
    /// The date does not exist.
    #[error("a date must exist and be like 2026-12-24")]
    Date,
    /// The text is not a time of day.
    #[error("a time of day must be like 06:30 or 06:30:15")]
    Time,
    /// The text is not a date and a time of day.
    #[error("a date with a time must be like 2026-12-01T09:00, without a zone")]
    Civil,
}

/// Returns the days from 1970-01-01 to the first of a month.
pub(super) fn days_to_month(year: i64, month: i64) -> i64 {
    // Years that begin in March, so that the leap day is a year's last.
    let year = if month <= 2 { year - 1 } else { year };
    let shifted = (month + 9) % 12;
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leaps + (153 * shifted + 2) / 5 - 719_468
}

/// Returns the year, month and day that are this number of days after 1970-01-01.
pub(super) fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// Returns the number of days in a month.
pub(super) fn month_len(year: i64, month: i64) -> i64 {
    let next = if month == 12 { days_to_month(year + 1, 1) } else { days_to_month(year, month + 1) };
    next - days_to_month(year, month)
}

/// Returns the day of the week of a day since 1970-01-01; Sunday is 0.
pub(super) fn weekday(days: i64) -> i64 {
    (days + 4).rem_euclid(7)
}

/// A day of the calendar, from 0001-01-01 to 9999-12-31.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CivilDate(i64);

impl CivilDate {
    /// Returns the day that is this number of days after 1970-01-01.
    pub(super) const fn of_days(days: i64) -> Self {
        Self(days)
    }

    /// Returns the days since 1970-01-01.
    pub(super) const fn days(self) -> i64 {
        self.0
    }
}

/// Reads a number of exactly this many digits.
fn number(text: &str, digits: usize) -> Option<i64> {
    let fits = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

impl FromStr for CivilDate {
    type Err = BadCivil;

    fn from_str(text: &str) -> Result<Self, BadCivil> {
        let mut parts = text.splitn(3, '-');
        let mut part = |digits| parts.next().and_then(|part| number(part, digits));
        let (Some(year), Some(month), Some(day)) = (part(4), part(2), part(2)) else {
            return Err(BadCivil::Date);
        };
        let exists = year >= 1 && (1..=12).contains(&month) && (1..=month_len(year, month)).contains(&day);
        if exists { Ok(Self(days_to_month(year, month) + day - 1)) } else { Err(BadCivil::Date) }
    }
}

impl fmt::Display for CivilDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date_of(self.0);
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

/// A time of day in seconds since midnight, from 00:00 to 24:00; the latter only ends a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClockTime(i64);

impl ClockTime {
    /// Returns the time of day this many seconds after midnight.
    pub(super) const fn of_seconds(seconds: i64) -> Self {
        Self(seconds)
    }

    /// Returns the seconds since midnight.
    pub(super) const fn seconds(self) -> i64 {
        self.0
    }
}

impl FromStr for ClockTime {
    type Err = BadCivil;

    fn from_str(text: &str) -> Result<Self, BadCivil> {
        let mut parts = text.splitn(3, ':');
        let mut part = || parts.next().map(|part| number(part, 2));
        let (Some(Some(hour)), Some(Some(minute))) = (part(), part()) else {
            return Err(BadCivil::Time);
        };
        let second = part().unwrap_or(Some(0)).ok_or(BadCivil::Time)?;
        let total = hour * 3_600 + minute * 60 + second;
        if minute < 60 && second < 60 && total <= DAY { Ok(Self(total)) } else { Err(BadCivil::Time) }
    }
}

impl fmt::Display for ClockTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hour, minute, second) = (self.0 / 3_600, self.0 / 60 % 60, self.0 % 60);
        write!(f, "{hour:02}:{minute:02}")?;
        match second {
            0 => Ok(()),
            _ => write!(f, ":{second:02}"),
        }
    }
}

/// A day and a time of day, in a zone given elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CivilDateTime {
    /// The day.
    pub date: CivilDate,
    /// The time of day; before 24:00.
    pub time: ClockTime,
}

impl CivilDateTime {
    /// Returns the time that is this many seconds after 1970-01-01T00:00.
    pub(super) const fn of_seconds(seconds: i64) -> Self {
        Self {
            date: CivilDate::of_days(seconds.div_euclid(DAY)),
            time: ClockTime::of_seconds(seconds.rem_euclid(DAY)),
        }
    }

    /// Returns the seconds since 1970-01-01T00:00.
    pub(super) const fn seconds(self) -> i64 {
        self.date.days() * DAY + self.time.seconds()
    }
}

impl FromStr for CivilDateTime {
    type Err = BadCivil;

    fn from_str(text: &str) -> Result<Self, BadCivil> {
        let (date, time) = text.split_once('T').ok_or(BadCivil::Civil)?;
        let date = date.parse().map_err(|_| BadCivil::Civil)?;
        let time: ClockTime = time.parse().map_err(|_| BadCivil::Civil)?;
        if time.seconds() == DAY {
            return Err(BadCivil::Civil);
        }
        Ok(Self { date, time })
    }
}

impl fmt::Display for CivilDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}T{}", self.date, self.time)
    }
}

/// Converts types from and to text by their `FromStr` and `Display`.
macro_rules! as_text {
    ($($type:ty)*) => {$(
        impl TryFrom<String> for $type {
            type Error = BadCivil;

            fn try_from(text: String) -> Result<Self, BadCivil> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }
    )*};
}

as_text! { CivilDate ClockTime CivilDateTime }

#[cfg(test)]
mod tests {
    use super::{CivilDate, CivilDateTime, ClockTime, date_of, days_to_month, month_len, weekday};

    #[test]
    fn days_and_dates_are_two_writings_of_one_thing() {
        let mut before = (0, 12, 31);
        for days in days_to_month(1, 1)..days_to_month(2_801, 1) {
            let (year, month, day) = date_of(days);
            let next = (before.0, before.1, before.2 + 1);
            let month_after = (before.0, before.1 + 1, 1);
            let year_after = (before.0 + 1, 1, 1);
            let now = (year, month, day);
            assert!(now == next || now == month_after || now == year_after, "{now:?}");
            assert_eq!(days_to_month(year, month) + day - 1, days);
            assert!(day <= month_len(year, month));
            before = now;
        }
        assert_eq!(date_of(0), (1970, 1, 1));
        assert_eq!(weekday(0), 4);
        assert_eq!(month_len(2000, 2) + month_len(1900, 2), 57);
    }

    #[test]
    fn texts_are_read_back_and_others_refused() {
        for text in ["0001-01-01", "2028-02-29", "9999-12-31"] {
            assert_eq!(text.parse::<CivilDate>().unwrap().to_string(), text);
        }
        for text in ["00:00", "23:59:59", "24:00", "06:30"] {
            assert_eq!(text.parse::<ClockTime>().unwrap().to_string(), text);
        }
        let civil: CivilDateTime = "2026-12-01T09:00".parse().unwrap();
        assert_eq!(CivilDateTime::of_seconds(civil.seconds()), civil);
        for text in ["2027-02-29", "2026-13-01", "2026-1-1", "26-01-01", "0000-01-01", "", "+026-01-01"] {
            assert!(text.parse::<CivilDate>().is_err(), "{text}");
        }
        for text in ["24:01", "6:30", "06:60", "06:30:60", "06", "", "06:30:15:00", "٠٦:٣٠"] {
            assert!(text.parse::<ClockTime>().is_err(), "{text}");
        }
        for text in ["2026-12-01 09:00", "2026-12-01T24:00", "2026-12-01T09:00Z", "2026-12-01"] {
            assert!(text.parse::<CivilDateTime>().is_err(), "{text}");
        }
    }
}
