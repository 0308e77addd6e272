use std::borrow::Cow;

use serde_json::Value;

use crate::{machine::REASON_LIMIT, verify::ProbeFindings};
use wf_base::exact_json;
use wf_model::{Expectation, FailureClass, JsonExpectation, JsonMismatch, UniqueKeyJson, bounds, is_within};

/// The reason why an expectation is not met.
#[derive(Debug)]
pub(super) enum ExpectationMiss {
    /// The finding is wrong.
    Wrong { expected: String, found: String, failure_class: FailureClass },
    /// The finding could not be looked at.
    Unknown { expected: String, found: String, failure_class: FailureClass },
}

/// Returns a miss looked at and is wrong, for which only the work is to blame.
pub(super) fn wrong_result(
    expected: impl Into<String>,
    found: impl Into<String>,
) -> Result<(), ExpectationMiss> {
    Err(ExpectationMiss::Wrong {
        expected: expected.into(),
        found: found.into(),
        failure_class: FailureClass::Logical,
    })
}

/// Standard output, and a flag for whether it is complete.
struct CheckedOutput<'a> {
    text: Cow<'a, str>,
    truncated: bool,
}

/// Checks every expectation of standard output.
pub(super) fn all(expect: &Expectation, findings: &ProbeFindings<'_>) -> Result<(), ExpectationMiss> {
    let output =
        CheckedOutput { text: String::from_utf8_lossy(findings.stdout), truncated: findings.truncated };
    texts(expect, &output)?;
    numbers(expect, &output)?;
    if let Some(wanted) = expect.not_empty {
        not_empty(wanted, &output)?;
    }
    json(expect, &output)
}

impl CheckedOutput<'_> {
    /// Returns the whole output; a truncated one cannot be judged as a whole.
    fn whole_text(&self, expected: &str) -> Result<&str, ExpectationMiss> {
        if self.truncated {
            return Err(ExpectationMiss::Unknown {
                expected: expected.to_owned(),
                found: "more output than is kept for checks".into(),
                failure_class: FailureClass::Logical,
            });
        }
        Ok(&self.text)
    }
}

fn texts(expect: &Expectation, output: &CheckedOutput<'_>) -> Result<(), ExpectationMiss> {
    let ends = ['\n', '\r'];
    if let Some(text) = &expect.equals {
        let expected = format!("the output {}", quoted(text));
        let found = output.whole_text(&expected)?.trim_end_matches(ends);
        if found != text.trim_end_matches(ends) {
            return wrong_result(expected, quoted(found));
        }
    }
    if let Some(part) = &expect.contains
        && !output.text.contains(part.as_str())
    {
        let expected = format!("output with {}", quoted(part));
        return wrong_result(&expected, quoted(output.whole_text(&expected)?));
    }
    if let Some(regex) = &expect.regex {
        let expected = format!("output that matches `{}`", regex.as_str());
        // As in Python's `re`, `$` also matches before the line end that closes the output.
        let text = output.whole_text(&expected)?.trim_end_matches(ends);
        if !regex.is_match(text) {
            return wrong_result(expected, quoted(text));
        }
    }
    Ok(())
}

fn numbers(expect: &Expectation, output: &CheckedOutput<'_>) -> Result<(), ExpectationMiss> {
    if expect.output_lt.is_none() && expect.output_gt.is_none() {
        return Ok(());
    }
    let expected = bounds("a number", expect.output_gt, expect.output_lt);
    let text = output.whole_text(&expected)?.trim();
    match text.parse::<f64>() {
        Ok(number) if is_within(number, expect.output_gt, expect.output_lt) => Ok(()),
        _ => wrong_result(expected, quoted(text)),
    }
}

fn not_empty(wanted: bool, output: &CheckedOutput<'_>) -> Result<(), ExpectationMiss> {
    let expected = if wanted { "some output" } else { "no output" };
    let has_text = !output.text.trim().is_empty();
    if has_text == wanted && (wanted || output.whole_text(expected).is_ok()) {
        return Ok(());
    }
    if !has_text {
        output.whole_text(expected)?;
    }
    wrong_result(expected, quoted(&output.text))
}

fn json(expect: &Expectation, output: &CheckedOutput<'_>) -> Result<(), ExpectationMiss> {
    if expect.json.is_empty() && expect.json_schema.is_none() {
        return Ok(());
    }
    let expected = "the output is JSON";
    let text = output.whole_text(expected)?;
    let value = match exact_json::read(text) {
        Ok(UniqueKeyJson(value)) => value,
        Err(error) => return wrong_result(expected, format!("{error}: {}", quoted(text))),
    };
    for each in &expect.json {
        at_path(each, &value)?;
    }
    match expect.json_schema.as_ref().and_then(|schema| schema.first_mistake(&value)) {
        Some(mistake) => wrong_result("the output satisfies the JSON schema", mistake),
        None => Ok(()),
    }
}

fn at_path(expect: &JsonExpectation, value: &Value) -> Result<(), ExpectationMiss> {
    match expect.mismatch(value, quoted) {
        None => Ok(()),
        Some(JsonMismatch { expected, found, is_bad: true }) => {
            Err(ExpectationMiss::Unknown { expected, found, failure_class: FailureClass::Logical })
        }
        Some(miss) => wrong_result(miss.expected, miss.found),
    }
}

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
