//! Dates and times as a wall clock shows them: those of [`jiff::civil`], from the year 1 to 9999, each in the one
//! writing that the language allows.

use std::{fmt, str::FromStr};

use jiff::{
    SignedDuration,
    civil::{Date, DateTime, Time},
};
use wf_base::text_form;

/// The seconds of a day of 24 hours.
pub(super) const DAY: i32 = 86_400;

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

/// A day of the calendar, from 0001-01-01 to 9999-12-31.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CivilDate(pub(super) Date);

impl FromStr for CivilDate {
    type Err = BadCivil;

    fn from_str(text: &str) -> Result<Self, BadCivil> {
        let date: Date = text.parse().map_err(|_| BadCivil::Date)?;
        // `jiff` reads other writings, too.
        let is_plain = date.year() >= 1 && date.to_string() == text;
        if is_plain { Ok(Self(date)) } else { Err(BadCivil::Date) }
    }
}

impl fmt::Display for CivilDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A time of day in seconds since midnight, from 00:00 to 24:00; the latter only ends a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClockTime(i32);

impl ClockTime {
    /// Returns the seconds since midnight.
    pub(super) const fn seconds(self) -> i32 {
        self.0
    }
}

/// Drops what is less than a second.
impl From<Time> for ClockTime {
    fn from(time: Time) -> Self {
        Self(i32::from(time.hour()) * 3_600 + i32::from(time.minute()) * 60 + i32::from(time.second()))
    }
}

impl FromStr for ClockTime {
    type Err = BadCivil;

    fn from_str(text: &str) -> Result<Self, BadCivil> {
        let mut parts = text.splitn(3, ':').map(two_digits);
        let (Some(Some(hour)), Some(Some(minute))) = (parts.next(), parts.next()) else {
            return Err(BadCivil::Time);
        };
        let second = parts.next().unwrap_or(Some(0)).ok_or(BadCivil::Time)?;
        let total = hour * 3_600 + minute * 60 + second;
        if minute < 60 && second < 60 && total <= DAY { Ok(Self(total)) } else { Err(BadCivil::Time) }
    }
}

/// Returns the time that is this many seconds after midnight, before 24:00.
pub(super) fn time_of_day(seconds: i32) -> Option<Time> {
    Time::midnight().checked_add(SignedDuration::from_secs(seconds.into())).ok()
}

/// Reads a number of two digits.
fn two_digits(text: &str) -> Option<i32> {
    let fits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
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

/// A day and a time of day, before 24:00, in a zone that is named elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CivilDateTime(pub(super) DateTime);

impl FromStr for CivilDateTime {
    type Err = BadCivil;

    fn from_str(text: &str) -> Result<Self, BadCivil> {
        let (date, time) = text.split_once('T').ok_or(BadCivil::Civil)?;
        let CivilDate(date) = date.parse().map_err(|_| BadCivil::Civil)?;
        let ClockTime(seconds) = time.parse().map_err(|_| BadCivil::Civil)?;
        let time = time_of_day(seconds).ok_or(BadCivil::Civil)?;
        Ok(Self(date.to_datetime(time)))
    }
}

impl fmt::Display for CivilDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}T{}", self.0.date(), ClockTime::from(self.0.time()))
    }
}

text_form!(CivilDate, ClockTime, CivilDateTime);

#[cfg(test)]
mod tests {
    use super::{CivilDate, CivilDateTime, ClockTime};

    #[test]
    fn texts_are_read_back_and_others_refused() {
        for text in ["0001-01-01", "2028-02-29", "9999-12-31"] {
            assert_eq!(text.parse::<CivilDate>().unwrap().to_string(), text);
        }
        for text in ["00:00", "23:59:59", "24:00", "06:30"] {
            assert_eq!(text.parse::<ClockTime>().unwrap().to_string(), text);
        }
        for text in ["2026-12-01T09:00", "2026-12-01T09:00:15"] {
            assert_eq!(text.parse::<CivilDateTime>().unwrap().to_string(), text);
        }
        for text in
            ["2027-02-29", "2026-13-01", "2026-1-1", "26-01-01", "0000-01-01", "", "+026-01-01", "20260101"]
        {
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
