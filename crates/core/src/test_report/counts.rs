use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

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
