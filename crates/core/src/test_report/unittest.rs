//! The text of Python's `unittest`, whose summary ends it, at any verbosity.

use super::{TestCounts, TestEnd, TestReportError};

/// True if a text ends as one of `unittest` does.
pub(super) fn is_report(text: &str) -> bool {
    text.lines().next_back().is_some_and(|last| outcome(last).is_some()) && text.lines().any(is_total)
}

/// Reads the numbers of the summary: the last line, and the one number of tests that ran.
pub(super) fn read(text: &str) -> Result<TestCounts, TestReportError> {
    let mut totals = text.lines().filter(|line| is_total(line));
    let (Some(total), None) = (totals.next().and_then(total), totals.next()) else {
        return Err(TestReportError::TwoTotals);
    };
    let notes = text.lines().next_back().and_then(outcome).unwrap_or_default();
    let mut counts = TestCounts::default();
    for note in notes.split(", ").filter(|note| !note.is_empty()) {
        let (word, number) = note.split_once('=').unwrap_or((note, ""));
        let unknown = || TestReportError::NotNumber(note.to_owned());
        let number = number.parse::<u32>().map_err(|_| unknown())?;
        match word {
            "failures" | "errors" | "unexpected successes" => {
                counts.failed = counts.failed.saturating_add(number);
            }
            "skipped" | "expected failures" => counts.skipped = counts.skipped.saturating_add(number),
            _ => return Err(unknown()),
        }
    }
    // One test can fail several times, by its subtests.
    counts.passed = total.saturating_sub(counts.failed).saturating_sub(counts.skipped);
    let (skipped, failed) = (counts.skipped, counts.failed);
    for line in text.lines() {
        if let Some((name, end)) = test(line) {
            counts.add(name, end);
        }
    }
    // Which tests there are is only written on request: the numbers are those of the summary.
    Ok(TestCounts { failed, skipped, ..counts })
}

/// True if a line says how many tests ran: `Ran 3 tests in 0.002s`.
fn is_total(line: &str) -> bool {
    total(line).is_some()
}

fn total(line: &str) -> Option<u32> {
    let (number, rest) = line.strip_prefix("Ran ")?.split_once(' ')?;
    let rest = rest.strip_prefix("tests in ").or_else(|| rest.strip_prefix("test in "))?;
    rest.ends_with('s').then_some(())?;
    number.parse().ok()
}

/// Returns the numbers in the last line, `OK (skipped=1)`; `None`: it is no such line.
fn outcome(line: &str) -> Option<&str> {
    let rest = ["OK", "FAILED", "NO TESTS RAN"].iter().find_map(|word| line.strip_prefix(word))?;
    match rest {
        "" => Some(""),
        _ => rest.strip_prefix(" (")?.strip_suffix(')'),
    }
}

/// Returns a test that did not pass, as `-v` writes it: `test_a (m.T.test_a) ... skipped 'later'`.
fn test(line: &str) -> Option<(&str, TestEnd)> {
    let (name, end) = line.rsplit_once(" ... ")?;
    match end {
        "FAIL" | "ERROR" | "unexpected success" => Some((name, TestEnd::Failed)),
        _ if end.starts_with("skipped ") || end == "expected failure" => Some((name, TestEnd::Skipped)),
        _ => None,
    }
}
