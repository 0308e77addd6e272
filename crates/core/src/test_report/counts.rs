use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::test_report::{json, junit, tap, unittest};

/// The maximum number of names kept of failed or of skipped tests.
const MAX_NAMES: usize = 1000;

/// The numbers of the tests of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TestCounts {
    /// The number of tests that passed.
    pub passed: u32,
    /// The number of tests that failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u32,
    /// The number of tests that were skipped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: u32,
    /// The names of the failed tests, in their order; not all of very many.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub failed_names: BTreeSet<String>,
    /// The names of the skipped tests; not all of very many.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub skipped_names: BTreeSet<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The end of one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestEnd {
    Passed,
    Failed,
    Skipped,
}

impl TestCounts {
    /// Counts a test.
    pub(super) fn add(&mut self, name: &str, end: TestEnd) {
        let (count, names) = match end {
            TestEnd::Passed => return self.passed = self.passed.saturating_add(1),
            TestEnd::Failed => (&mut self.failed, &mut self.failed_names),
            TestEnd::Skipped => (&mut self.skipped, &mut self.skipped_names),
        };
        *count = count.saturating_add(1);
        if names.len() < MAX_NAMES {
            names.insert(name.chars().take(300).collect());
        }
    }

    /// Returns the number of tests.
    pub(super) fn total(&self) -> u64 {
        [self.passed, self.failed, self.skipped].into_iter().map(u64::from).sum()
    }
}

impl std::fmt::Display for TestCounts {
    /// Formats them as `47 passed, 1 skipped`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed", self.passed)?;
        for (count, word) in [(self.failed, "failed"), (self.skipped, "skipped")] {
            if count > 0 {
                write!(f, ", {count} {word}")?;
            }
        }
        Ok(())
    }
}

/// The maximum size of a report, in bytes.
pub const MAX_REPORT_BYTES: usize = 16 * 1024 * 1024;

/// The reason why a report counts nothing.
#[derive(Debug, thiserror::Error)]
pub enum TestReportError {
    #[error("the report is empty")]
    Empty,
    #[error("the report is cut off")]
    CutOff,
    #[error("the report is cut off: a suite did not end")]
    OpenSuite,
    #[error("the report is not UTF-8: {0}")]
    NotUtf8(#[from] std::str::Utf8Error),
    #[error("the report is not valid XML: {0}")]
    NotXml(#[from] quick_xml::Error),
    #[error("the report is no JUnit report: it has no `testsuites` or `testsuite`")]
    NotJunit,
    #[error("line {line} of the report is no event of libtest or nextest: {cause}")]
    NotEvent { line: usize, cause: serde_json::Error },
    #[error("the report is no JUnit, JSON or TAP report: it has no plan `1..N`")]
    NoPlan,
    #[error("`{0}` is no plan of TAP")]
    InvalidPlan(String),
    #[error("the report has two plans")]
    TwoPlans,
    #[error("the report has two tests of the number {0}")]
    SameNumber(u64),
    #[error("the report has more than one number of tests that ran")]
    TwoTotals,
    #[error("`{0}` is no number of tests")]
    NotNumber(String),
    /// The runner gave up.
    #[error("the tests were given up: {0}")]
    GivenUp(String),
    #[error("a suite of the report failed outside of its tests")]
    SuiteFailed,
    /// Its sum is another than the number of its tests.
    #[error("the report says that it has {total} tests, and has {has}")]
    OtherTotal { total: u64, has: u64 },
    /// Its sum of tests with an end is higher than their number.
    #[error("the report says that {says} tests {end}, and has {has} of these")]
    OtherEnds { end: &'static str, says: u64, has: u32 },
    #[error("the report announces {announced} tests, and has {has}")]
    MissingTests { announced: u64, has: u64 },
    #[error("the plan of the report is {plan} tests, and it has {has}")]
    OtherPlan { plan: u64, has: u64 },
    #[error("the plan of the report is {plan} tests, and one has a higher number")]
    HigherNumber { plan: u64 },
}

/// Reads a report; its first character, or its end, tells the format.
pub fn read_test_report(bytes: &[u8]) -> Result<TestCounts, TestReportError> {
    let text = std::str::from_utf8(bytes)?;
    let text = text.trim_start_matches('\u{feff}').trim();
    match text.chars().next() {
        None => Err(TestReportError::Empty),
        Some('<') => junit::read(text),
        Some('{') => json::read(text),
        Some(_) if unittest::is_report(text) => unittest::read(text),
        Some(_) => tap::read(text),
    }
}
