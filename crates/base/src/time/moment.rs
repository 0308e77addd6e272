use std::fmt;
use std::str::FromStr;
use std::time::Duration;

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

#[cfg(test)]
mod tests {
    use super::Moment;
    use std::time::Duration;

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
}
