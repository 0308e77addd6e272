//! Instants and durations as the language writes them.
//!
//! **Invariant:** nothing below layer 4 reads a clock; instants arrive as [`Moment`] values.

use std::{fmt, fmt::Write as _, str::FromStr, time::Duration};

use crate::{inline_schema, text_form};

/// An instant: milliseconds since 1970-01-01T00:00:00Z. Written in RFC 3339.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

/// An error for a text that is not an instant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an instant must be like 2026-11-21T09:30:00Z")]
pub struct BadMoment;

impl Moment {
    /// Makes an instant from milliseconds since the epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since the epoch.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Returns this instant plus a duration; saturates in the far future.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        let millis = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis))
    }

    /// Returns the time since `earlier`; zero if that is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        let millis = self.0.saturating_sub(earlier.0);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }

    /// Returns the same as text, without the part below one second.
    pub fn to_second(self) -> String {
        format!("{:.0}", self.stamp())
    }

    fn stamp(self) -> jiff::Timestamp {
        jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
    }

    /// Reads RFC 3339.
    pub fn parse(text: &str) -> Result<Self, BadMoment> {
        let stamp: jiff::Timestamp = text.parse().map_err(|_| BadMoment)?;
        Ok(Self(stamp.as_millisecond()))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.stamp())
    }
}

impl FromStr for Moment {
    type Err = BadMoment;

    fn from_str(text: &str) -> Result<Self, BadMoment> {
        Self::parse(text)
    }
}

text_form!(Moment);

inline_schema!(Moment, "Moment", { "type": "string", "format": "date-time" });

/// A source of the current time. The engine and the commands hold one; the core never does.
pub trait Clock: Send + Sync {
    /// Returns the current instant.
    fn now(&self) -> Moment;
}

/// The system clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock the others come from")]
    fn now(&self) -> Moment {
        Moment::from_millis(jiff::Timestamp::now().as_millisecond())
    }
}

/// A fixed clock, so a recorded session is the same every time.
#[derive(Clone, Copy, Debug)]
pub struct FixedClock(pub Moment);

impl Clock for FixedClock {
    fn now(&self) -> Moment {
        self.0
    }
}

/// An error for a text that is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a duration must be like 250ms, 30s, 5m, 2h, 1d or 1h30m")]
pub struct BadDuration;

/// The units, largest first, in milliseconds.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Reads `1d2h3m4s5ms`: whole numbers with units, each unit at most once, largest first.
pub fn parse_duration(text: &str) -> Result<Duration, BadDuration> {
    let mut rest = text;
    let mut total: u64 = 0;
    let mut units = UNITS.iter();
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, after) = rest.split_at_checked(digits).ok_or(BadDuration)?;
        let number: u64 = number.parse().map_err(|_| BadDuration)?;
        let letters = after.len() - after.trim_start_matches(|c: char| c.is_ascii_lowercase()).len();
        let (unit, left) = after.split_at_checked(letters).ok_or(BadDuration)?;
        let (_, millis) = units.find(|(name, _)| *name == unit).ok_or(BadDuration)?;
        let part = number.checked_mul(*millis).ok_or(BadDuration)?;
        total = total.checked_add(part).ok_or(BadDuration)?;
        rest = left;
    }
    if text.is_empty() { Err(BadDuration) } else { Ok(Duration::from_millis(total)) }
}

/// Writes the form [`parse_duration`] reads; whole milliseconds.
pub fn format_duration(duration: Duration) -> String {
    let mut left = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut text = String::new();
    for (unit, millis) in UNITS {
        if left >= millis {
            let _ = write!(text, "{}{unit}", left / millis);
            left %= millis;
        }
    }
    if text.is_empty() { "0s".into() } else { text }
}

/// Reads the header `Retry-After` of HTTP: seconds, or a date. A past date is no wait.
pub fn parse_retry_after(text: &str, now: Moment) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Too many digits are a long wait, too.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(Moment::from_millis(date.as_millisecond()).since(now))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Moment, format_duration, parse_duration, parse_retry_after};

    #[test]
    fn writes_and_reads_rfc_3339() {
        let moment = Moment::from_millis(1_700_000_000_123);
        assert_eq!(moment.to_string(), "2023-11-14T22:13:20.123Z");
        assert_eq!(Moment::parse("2023-11-14T22:13:20.123Z"), Ok(moment));
        assert!(Moment::parse("yesterday").is_err());
    }

    #[test]
    fn arithmetic_saturates() {
        let end = Moment::from_millis(i64::MAX);
        assert_eq!(end.after(Duration::from_secs(1)), end);
        assert_eq!(Moment::from_millis(0).since(end), Duration::ZERO);
    }

    #[test]
    fn what_is_written_is_read_back() {
        for millis in [0, 1, 999, 1_000, 90_000, 3_661_001, 86_400_000] {
            let duration = std::time::Duration::from_millis(millis);
            assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }
    }

    #[test]
    fn refuses_what_is_no_duration() {
        for text in ["", "5", "m", "5 m", "-5m", "5m5m", "5s1h", "1.5h", "99999999999999999999d", "５m"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    fn at(second: i64) -> Moment {
        Moment::from_millis(second * 1_000)
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let before = at(784_111_777 - 20);
        assert_eq!(parse_retry_after(" 7 ", at(0)), Some(Duration::from_secs(7)));
        assert_eq!(parse_retry_after(date, before), Some(Duration::from_secs(20)));
        assert_eq!(parse_retry_after(date, at(784_111_800)), Some(Duration::ZERO));
        assert_eq!(parse_retry_after("99999999999999999999999", at(0)), Some(Duration::from_secs(u64::MAX)));
        for text in ["", "soon", "-1", "+3", "1.5"] {
            assert_eq!(parse_retry_after(text, at(0)), None, "{text}");
        }
    }
}
