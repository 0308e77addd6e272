use crate::machine::REASON_LIMIT;

/// The longest short text, in characters.
pub(super) const SHORT: usize = 200;

/// Returns one line of at most [`SHORT`] characters.
pub(super) fn line(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    let flat = words.join(" ");
    match flat.char_indices().nth(SHORT) {
        None => flat,
        Some(_) => flat.chars().take(SHORT - 1).chain(['…']).collect(),
    }
}

/// Returns a text for use in a sentence: quoted, in one line.
pub(super) fn quoted(text: &str) -> String {
    match text.trim() {
        "" => "nothing".into(),
        trimmed => line(&format!("`{trimmed}`")),
    }
}

/// Returns at most [`REASON_LIMIT`] characters of the probe's output: its standard output, else its
/// standard error. Of a longer text, the beginning and the end.
pub(super) fn evidence(stdout: &[u8], stderr: &[u8]) -> String {
    let output = String::from_utf8_lossy(stdout);
    let errors = String::from_utf8_lossy(stderr);
    let text = match output.trim() {
        "" => errors.trim(),
        output => output,
    };
    let total = text.chars().count();
    if total <= REASON_LIMIT {
        return text.to_owned();
    }
    let gap = "\n…\n";
    let head = REASON_LIMIT / 3;
    let tail = REASON_LIMIT - head - gap.chars().count();
    let mut kept: String = text.chars().take(head).collect();
    kept.push_str(gap);
    kept.extend(text.chars().skip(total - tail));
    kept
}

#[cfg(test)]
mod tests {
    use super::{SHORT, evidence, line};
    use crate::machine::REASON_LIMIT;

    #[test]
    fn lines_are_short_and_single() {
        assert_eq!(line(" a\n\tb\u{1b} c "), "a b c");
        assert_eq!(line(&"é".repeat(SHORT)), "é".repeat(SHORT));
        assert_eq!(line(&"é ".repeat(SHORT)).chars().count(), SHORT);
    }

    #[test]
    fn evidence_is_bounded_and_keeps_both_ends() {
        let long = format!("first{}last", "é".repeat(5000));
        let kept = evidence(long.as_bytes(), b"");
        assert_eq!(kept.chars().count(), REASON_LIMIT);
        assert!(kept.starts_with("first") && kept.ends_with("last"));
        assert_eq!(evidence(b" \n", b"no such file\n"), "no such file");
        assert_eq!(evidence(&[0xff, b'a'], b""), "\u{fffd}a");
    }
}
