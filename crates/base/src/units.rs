//! Times, sizes and counts as users read them.

use std::time::Duration;

use crate::time::Moment;

/// A duration for display: `0.4s`, `12.3s`, `3m 05s`, `2h 04m`, `3d 04h`.
pub fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}.{}s", time.subsec_millis() / 100),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h {:02}m", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{}d {:02}h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// An instant to the second, in UTC: `2026-11-21 09:30:00`.
pub fn moment(at: Moment) -> String {
    let text = at.to_string();
    let text = text.get(..19).unwrap_or(&text);
    text.replace('T', " ")
}

/// A number of bytes for display: `12 B`, `3.4 KiB`.
pub fn size(bytes: u64) -> String {
    let mut unit = "B";
    let mut whole = bytes;
    let mut rest = 0;
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if whole < 1024 {
            break;
        }
        rest = whole % 1024;
        whole /= 1024;
        unit = larger;
    }
    match unit {
        "B" => format!("{whole} B"),
        _ => format!("{whole}.{} {unit}", rest * 10 / 1024),
    }
}

/// A count and its noun: `1 step`, `2 steps`.
pub fn plural(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// A text cut to a number of characters, with `…` in place of the rest.
pub fn fit(text: &str, width: usize) -> String {
    if text.chars().nth(width).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

pub fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::{elapsed, fit, moment, size};
    use crate::time::Moment;
    use std::time::Duration;

    #[test]
    fn times_are_short() {
        for (duration_ms, text) in [
            (0, "0.0s"),
            (449, "0.4s"),
            (12_345, "12.3s"),
            (185_000, "3m 05s"),
            (7_440_000, "2h 04m"),
            (273_600_000, "3d 04h"),
        ] {
            assert_eq!(elapsed(Duration::from_millis(duration_ms)), text);
        }
    }

    #[test]
    fn sizes_have_units() {
        for (bytes, text) in [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB")] {
            assert_eq!(size(bytes), text);
        }
        assert_eq!(size(5 << 30), "5.0 GiB");
        assert_eq!(size(u64::MAX), "16777215.9 TiB");
    }

    #[test]
    fn instants_are_utc_to_the_second() {
        let at = Moment::parse("2026-11-21T09:30:00.5Z").unwrap();
        assert_eq!(moment(at), "2026-11-21 09:30:00");
    }

    #[test]
    fn a_cut_shows() {
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("äbcd", 3), "äb…");
        assert_eq!(fit("abc", 0), "…");
    }
}
