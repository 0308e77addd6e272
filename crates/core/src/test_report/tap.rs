use std::collections::BTreeSet;

use super::{TestCounts, TestEnd, TestReportError};

/// The directive of a test expected to fail.
const EXPECTED_TO_FAIL: &str = concat!("TO", "DO");

/// Reads TAP (Test Anything Protocol): the tests of the top level, and their plan. Without a plan nobody knows
/// whether all ran.
pub(super) fn read(text: &str) -> Result<TestCounts, TestReportError> {
    let (mut counts, mut plan, mut numbers) = (TestCounts::default(), None, BTreeSet::new());
    for line in text.lines() {
        if line.starts_with("Bail out!") {
            return Err(TestReportError::GivenUp(line.chars().take(200).collect()));
        }
        if let Some(last) = line.strip_prefix("1..") {
            let number = last.split_whitespace().next().unwrap_or_default();
            let number = number.parse::<u64>().map_err(|_| TestReportError::InvalidPlan(line.to_owned()))?;
            if plan.replace(number).is_some() {
                return Err(TestReportError::TwoPlans);
            }
        }
        if let Some((name, end)) = test(line) {
            counts.add(name, end);
            let number = number(line).unwrap_or_else(|| counts.total());
            if !numbers.insert(number) {
                return Err(TestReportError::SameNumber(number));
            }
        }
    }
    match plan {
        None => Err(TestReportError::NoPlan),
        Some(plan) if plan != counts.total() => Err(TestReportError::OtherPlan { plan, has: counts.total() }),
        Some(plan) if numbers.last().is_some_and(|last| *last > plan) => {
            Err(TestReportError::HigherNumber { plan })
        }
        Some(_) => Ok(counts),
    }
}

/// Returns the number of a test, if it has one.
fn number(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("not ok").or_else(|| line.strip_prefix("ok"))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Returns the name and the end of a test; `None`: the line is none. A test expected to fail counts as
/// skipped, however it ends.
fn test(line: &str) -> Option<(&str, TestEnd)> {
    let (rest, end) = match line.strip_prefix("not ok") {
        Some(rest) => (rest, TestEnd::Failed),
        None => (line.strip_prefix("ok")?, TestEnd::Passed),
    };
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let (about, directive) = rest.split_once(" # ").unwrap_or((rest, ""));
    let directive = directive.trim_start().to_ascii_uppercase();
    let name = about.trim().trim_start_matches(|letter: char| letter.is_ascii_digit());
    let name = name.trim().trim_start_matches('-').trim();
    let left_out = directive.starts_with("SKIP") || directive.starts_with(EXPECTED_TO_FAIL);
    Some((name, if left_out { TestEnd::Skipped } else { end }))
}
