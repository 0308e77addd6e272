//! The rule for the numbers of a test report.

use super::{CriterionJudgement, output::ExpectationMiss};
use crate::{machine::CheckRuling, test_report::TestCounts, verify::output::line};
use wf_model::{FailureClass, LeastTests, TestExpectation};

/// The maximum number of tests a finding names.
const MAX_NAMED: usize = 3;

/// Judges a report of tests. `before` are the numbers of the view before the work, if they are needed and known.
/// A judgement that did not pass stays as it is.
pub fn judge_tests(
    expect: &TestExpectation,
    report: Result<&TestCounts, &str>,
    earlier_counts: Option<&TestCounts>,
    judged: CriterionJudgement,
) -> CriterionJudgement {
    if judged.ruling != CheckRuling::Pass {
        return judged;
    }
    let (ruling, expected, found, failure_class) = match compare(expect, report, earlier_counts) {
        Ok(()) => return judged,
        Err(ExpectationMiss::Wrong { expected, found, failure_class }) => {
            (CheckRuling::Fail, expected, found, failure_class)
        }
        Err(ExpectationMiss::Unknown { expected, found, failure_class }) => {
            (CheckRuling::Error, expected, found, failure_class)
        }
    };
    CriterionJudgement {
        ruling,
        expected: line(&expected),
        found: line(&found),
        failure_class: Some(failure_class),
        ..judged
    }
}

fn compare(
    expect: &TestExpectation,
    report: Result<&TestCounts, &str>,
    earlier_counts: Option<&TestCounts>,
) -> Result<(), ExpectationMiss> {
    let wrong = |expected: String, found: String| {
        Err(ExpectationMiss::Wrong { expected, found, failure_class: FailureClass::Logical })
    };
    let least = match (expect.at_least, earlier_counts) {
        (LeastTests::Number(number), _) => number,
        (LeastTests::Before, Some(before)) => before.passed.max(1),
        (LeastTests::Before, None) => {
            return Err(ExpectationMiss::Unknown {
                expected: "the tests as they were before the work".into(),
                found: "they were not counted then".into(),
                failure_class: FailureClass::Environmental,
            });
        }
    };
    let wanted = format!("a report of at least {least} passed tests");
    let counts = match report {
        Ok(counts) => counts,
        // The runner ended well and left no report: the work ended it early, or the check does not write one.
        Err(reason) => return wrong(wanted, reason.to_owned()),
    };
    if counts.failed > 0 {
        return wrong("no failed test".into(), format!("{counts}: {}", names(&counts.failed_names)));
    }
    if counts.passed < least {
        return wrong(wanted, counts.to_string());
    }
    let (LeastTests::Before, Some(before)) = (expect.at_least, earlier_counts) else {
        return Ok(());
    };
    let newly: Vec<&String> = counts.skipped_names.difference(&before.skipped_names).collect();
    if newly.is_empty() && counts.skipped <= before.skipped {
        return Ok(());
    }
    wrong("no test skipped that ran before the work".into(), names(newly))
}

/// Lists the first of some names.
fn names<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let mut names = names.into_iter();
    let first: Vec<&str> = names.by_ref().take(MAX_NAMED).map(String::as_str).collect();
    match names.count() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::judge_tests;
    use crate::{
        machine::{CheckRuling, WorkExit},
        test_report::{TestCounts, read_test_report},
        verify::{ProbeFindings, judge},
    };
    use wf_model::{Expectation, FailureClass, LeastTests, TestExpectation};

    fn counts(passed: u32, failed: u32, skipped: &[&str]) -> TestCounts {
        let failed = (0..failed).map(|number| format!("not ok f{number}\n"));
        let passed = (0..passed).map(|number| format!("ok p{number}\n"));
        let skipped = skipped.iter().map(|name| format!("ok {name} # SKIP\n"));
        let lines: Vec<String> = failed.chain(passed).chain(skipped).collect();
        let report = format!("1..{}\n{}", lines.len(), lines.concat());
        read_test_report(report.as_bytes()).unwrap()
    }

    /// The ruling on a command that ended with 0, and the finding.
    fn ruled(
        at_least: LeastTests,
        report: Result<&TestCounts, &str>,
        earlier_counts: Option<&TestCounts>,
    ) -> (CheckRuling, String) {
        let exit = WorkExit::Code { code: 0 };
        let found = ProbeFindings {
            exit: Some(&exit),
            stdout: &[],
            stderr: &[],
            truncated: false,
            out_end: &[],
            err_end: &[],
            files: &[],
        };
        let judged = judge(&Expectation::default(), &found, &[]);
        let judged = judge_tests(&TestExpectation { report: None, at_least }, report, earlier_counts, judged);
        if judged.ruling == CheckRuling::Fail {
            assert_eq!(judged.failure_class, Some(FailureClass::Logical));
        }
        (judged.ruling, judged.found)
    }

    #[test]
    fn a_program_that_ends_its_test_early_with_code_0_does_not_pass() {
        let ended = ruled(LeastTests::Number(1), Err("the report is empty"), None);
        assert_eq!(ended, (CheckRuling::Fail, "the report is empty".into()));
        assert_eq!(ruled(LeastTests::Number(3), Ok(&counts(2, 0, &[])), None).0, CheckRuling::Fail);
        assert_eq!(ruled(LeastTests::Number(3), Ok(&counts(3, 0, &["slow"])), None).0, CheckRuling::Pass);
        let failed = ruled(LeastTests::Number(1), Ok(&counts(3, 1, &[])), None);
        assert_eq!(failed, (CheckRuling::Fail, "3 passed, 1 failed: f0".into()));
    }

    #[test]
    fn what_passed_before_the_work_passes_after_it() {
        let before = counts(3, 2, &["slow"]);
        let ruled = |counts: &TestCounts| ruled(LeastTests::Before, Ok(counts), Some(&before));
        assert_eq!(ruled(&counts(5, 0, &["slow"])).0, CheckRuling::Pass);
        assert_eq!(ruled(&counts(3, 0, &[])).0, CheckRuling::Pass);
        assert_eq!(ruled(&counts(2, 0, &[])), (CheckRuling::Fail, "2 passed".into()));
        assert_eq!(ruled(&counts(4, 0, &["slow", "hard"])), (CheckRuling::Fail, "hard".into()));
        assert_eq!(ruled(&counts(4, 0, &["hard"])), (CheckRuling::Fail, "hard".into()));
    }

    #[test]
    fn nothing_counted_before_is_no_number() {
        assert_eq!(ruled(LeastTests::Before, Ok(&counts(1, 0, &[])), None).0, CheckRuling::Error);
        let none = TestCounts::default();
        assert_eq!(ruled(LeastTests::Before, Ok(&none), Some(&none)).0, CheckRuling::Fail);
        assert_eq!(ruled(LeastTests::Before, Ok(&counts(1, 0, &[])), Some(&none)).0, CheckRuling::Pass);
    }
}
