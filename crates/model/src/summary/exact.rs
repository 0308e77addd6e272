//! Values in the lines of a summary that approvers read: exact, since a rounded one would hide a change.

use std::time::Duration;

use wf_base::untrusted::shell_word;

/// An exact duration, in the largest unit that divides it: `5m`, `90s`, `1500ms`.
pub(crate) fn exact_duration(time: Duration) -> String {
    let (seconds, nanos) = (time.as_secs(), time.subsec_nanos());
    match (seconds, nanos) {
        (0, 0) => "0s".into(),
        (s, 0) if s % 3600 == 0 => format!("{}h", s / 3600),
        (s, 0) if s % 60 == 0 => format!("{}m", s / 60),
        (s, 0) => format!("{s}s"),
        (_, n) if n % 1_000_000 == 0 => format!("{}ms", time.as_millis()),
        _ => format!("{}ns", time.as_nanos()),
    }
}

/// An exact number of bytes, in the largest unit that divides it: `2 GiB`, `1000 B`.
pub(crate) fn exact_bytes(count: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.into_iter().find(|(_, shift)| count > 0 && count.trailing_zeros() >= *shift);
    match unit {
        Some((unit, shift)) => format!("{} {unit}", count >> shift),
        None => format!("{count} B"),
    }
}

/// Words as a shell would read them back: quoted where they are not one plain word.
pub(crate) fn shell_words(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let quoted: Vec<String> = words.into_iter().map(|word| shell_word(word.as_ref())).collect();
    quoted.join(" ")
}

/// A count as a number to compare.
#[expect(clippy::cast_precision_loss, reason = "only the order of two numbers matters")]
pub(crate) fn weight(count: u64) -> f64 {
    count as f64
}

/// A time limit, and the number to compare: none is more than any.
pub(crate) fn time_limit(time: Option<Duration>) -> (String, f64) {
    time.map_or_else(|| ("none".into(), f64::INFINITY), |time| (exact_duration(time), time.as_secs_f64()))
}

/// The words of a command, if it has any.
pub(crate) fn argv_text(words: &[impl AsRef<str>]) -> Option<String> {
    (!words.is_empty()).then(|| shell_words(words))
}

#[cfg(test)]
mod tests {
    use super::{exact_bytes, exact_duration, shell_words};
    use std::time::Duration;

    #[test]
    fn nothing_is_rounded() {
        for (duration_ms, text) in
            [(0, "0s"), (1_500, "1500ms"), (90_000, "90s"), (300_000, "5m"), (7_200_000, "2h")]
        {
            assert_eq!(exact_duration(Duration::from_millis(duration_ms)), text);
        }
        assert_eq!(exact_duration(Duration::from_nanos(1)), "1ns");
        for (count, text) in [(0, "0 B"), (1000, "1000 B"), (1 << 31, "2 GiB")] {
            assert_eq!(exact_bytes(count), text);
        }
    }

    #[test]
    fn words_can_be_told_apart() {
        assert_eq!(shell_words(["sh", "-c"]), "sh -c");
        assert_eq!(shell_words(["a b", "", "it's"]), r"'a b' '' 'it'\''s'");
    }
}
