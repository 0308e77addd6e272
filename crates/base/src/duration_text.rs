//! Durations in texts programs print: they differ from run to run, and nothing else does.

/// The units of durations, the longer ones first.
const UNITS: [&str; 8] = ["seconds", "second", "secs", "sec", "ms", "µs", "us", "s"];

/// Returns a text with `0s` in place of each duration, such as `0.003s` and `12 ms`; times and other numbers stay.
pub fn without_durations(text: &str) -> String {
    let mut new = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some(first) = rest.chars().next() {
        let is_start = first.is_ascii_digit() && !before.is_some_and(is_part_of_word);
        let length = if is_start { duration_length(rest) } else { None };
        let (taken, after) = rest.split_at(length.unwrap_or(first.len_utf8()));
        new.push_str(if length.is_some() { "0s" } else { taken });
        before = taken.chars().last();
        rest = after;
    }
    new
}

/// True for a character a number which begins here would belong to: `v1`, `1.5`, `08:15`.
fn is_part_of_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '.' | '_' | ':' | '-')
}

/// Returns the length of the duration at the beginning of a text, in bytes.
fn duration_length(text: &str) -> Option<usize> {
    let number = text.trim_start_matches(|next: char| next.is_ascii_digit());
    let number = match number.strip_prefix('.') {
        Some(fraction) if fraction.starts_with(|next: char| next.is_ascii_digit()) => {
            fraction.trim_start_matches(|next: char| next.is_ascii_digit())
        }
        _ => number,
    };
    let spaced = number.strip_prefix(' ').unwrap_or(number);
    let after = UNITS.iter().find_map(|unit| spaced.strip_prefix(unit))?;
    let ends = !after.starts_with(|next: char| next.is_alphanumeric() || next == '_');
    ends.then(|| text.len() - after.len())
}

#[cfg(test)]
mod tests {
    use super::without_durations;

    #[test]
    fn only_durations_are_replaced() {
        for (text, expected) in [
            ("Ran 2 tests in 0.003s", "Ran 2 tests in 0s"),
            ("(12ms) 1.5 seconds, 7 µs; 3 s.", "(0s) 0s, 0s; 0s."),
            ("took 4s\n", "took 0s\n"),
            ("2 samples, 12 msgs, v1s, 1.2.3s, 08:15s", "2 samples, 12 msgs, v1s, 1.2.3s, 08:15s"),
            ("echo 3", "echo 3"),
            ("3.s and 5.", "3.s and 5."),
            ("größe 9", "größe 9"),
        ] {
            assert_eq!(without_durations(text), expected, "{text}");
        }
    }
}
