use std::time::Duration;

use super::Moment;

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
    use super::parse_retry_after;
    use crate::time::Moment;
    use std::time::Duration;

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
