use std::fmt::Write as _;
use std::time::Duration;

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

#[cfg(test)]
mod tests {
    use super::{format_duration, parse_duration};

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
}
