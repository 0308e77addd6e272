use proptest::prelude::*;

use super::read_test_report;

/// The numbers of a report, as they are shown, or the reason why it counts nothing.
fn counts(report: &str) -> String {
    read_test_report(report.as_bytes()).map_or_else(|error| error.to_string(), |counts| counts.to_string())
}

const JUNIT: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="0" failures="1" skipped="1" tests="4" time="0.031">
<testcase classname="test_calc" name="test_add" time="0.001" />
<testcase classname="test_calc" name="test_sub&lt;1&gt;"><failure message="assert 1 == 2">trace</failure></testcase>
<testcase classname="test_calc" name="test_mul"><skipped type="pytest.skip" message="later"/></testcase>
<testcase classname="test_calc" name="test_div"><system-out>failure error</system-out></testcase>
</testsuite></testsuites>"#;

#[test]
fn a_junit_report_counts_cases_by_what_is_inside_them() {
    assert_eq!(counts(JUNIT), "2 passed, 1 failed, 1 skipped");
    let read = read_test_report(JUNIT.as_bytes()).unwrap();
    assert!(read.failed_names.contains("test_calc::test_sub<1>"), "{read:?}");
    assert!(read.skipped_names.contains("test_calc::test_mul"), "{read:?}");
    assert_eq!(counts(r#"<testsuite tests="0"></testsuite>"#), "0 passed");
    assert_eq!(
        counts(r#"<testsuites tests="1"><testsuite tests="1"><testcase name="a"/></testsuite></testsuites>"#),
        "1 passed"
    );
}

#[test]
fn a_junit_report_that_contradicts_itself_counts_nothing() {
    let two = "<testcase name=\"a\"/><testcase name=\"b\"/>";
    for (report, reason) in [
        (
            format!("<testsuite tests=\"2\" errors=\"3\">{two}</testsuite>"),
            "says that 3 tests failed, and has 0",
        ),
        (
            format!("<testsuites failures=\"1\"><testsuite>{two}</testsuite></testsuites>"),
            "says that 1 tests failed",
        ),
        (
            format!("<testsuites><testsuite tests=\"9\">{two}</testsuite></testsuites>"),
            "says that it has 9 tests",
        ),
        (
            format!(
                "<testsuites><testsuite tests=\"2\">{two}</testsuite><testsuite tests=\"1\"/></testsuites>"
            ),
            "has 1 tests",
        ),
        (format!("<testsuite skipped=\"2\">{two}</testsuite>"), "says that 2 tests skipped"),
        (format!("<testsuite>{two}<error>setup</error></testsuite>"), "failed outside of its tests"),
    ] {
        assert!(counts(&report).contains(reason), "{report}: {}", counts(&report));
    }
}

#[test]
fn other_reports_that_contradict_themselves_count_nothing() {
    let libtest = "{\"type\":\"suite\",\"event\":\"started\",\"test_count\":1}\n\
        {\"type\":\"test\",\"event\":\"ok\",\"name\":\"a\"}\n{\"type\":\"suite\",\"event\":\"failed\",\"failed\":1}";
    assert!(counts(libtest).contains("says that 1 tests failed"), "{}", counts(libtest));
    assert!(counts("1..2\nok 1 - a\nok 1 - a").contains("two tests of the number 1"));
    assert!(counts("1..2\nok 5 - a\nok 9 - b").contains("one has a higher number"));
}

#[test]
fn a_tap_report_needs_its_plan() {
    let tap = "TAP version 14\n1..5\nok 1 - adds\nnot ok 2 - divides\n  ---\n  why: zero\n  ...\nok 3 # SKIP no net\n\
               not ok 4 - later # T\x4fDO\n    ok 1 - inner\nok\n# a comment\n";
    assert_eq!(counts(tap), "2 passed, 1 failed, 2 skipped");
    assert_eq!(counts("ok 1 - adds\n"), "the report is no JUnit, JSON or TAP report: it has no plan `1..N`");
    assert_eq!(counts("1..2\nok 1\n"), "the plan of the report is 2 tests, and it has 1");
    assert!(counts("1..1\nBail out! no database\n").starts_with("the tests were given up"));
}

#[test]
fn the_text_of_unittest_counts_by_its_summary() {
    let end = "----------------------------------------------------------------------\n";
    let quiet = |total: &str, last: &str| counts(&format!("..s\n{end}{total} in 0.002s\n\n{last}\n"));
    assert_eq!(quiet("Ran 3 tests", "OK (skipped=1)"), "2 passed, 1 skipped");
    assert_eq!(quiet("Ran 1 test", "OK"), "1 passed");
    assert_eq!(
        quiet("Ran 4 tests", "FAILED (failures=1, errors=1, expected failures=1)"),
        "1 passed, 2 failed, 1 skipped"
    );
    // Each subtest of one test can fail.
    assert_eq!(quiet("Ran 1 test", "FAILED (failures=2)"), "0 passed, 2 failed");
    assert_eq!(quiet("Ran 0 tests", "NO TESTS RAN"), "0 passed");
    assert_eq!(quiet("Ran 1 test", "OK (odd=1)"), "`odd=1` is no number of tests");
    let verbose = format!(
        "test_a (m.T.test_a)\nAdds. ... ok\ntest_b (m.T.test_b) ... skipped 'later'\n\
         test_c (m.T.test_c) ... FAIL\n\n{end}Ran 3 tests in 0.1s\n\nFAILED (failures=1, skipped=1)\n"
    );
    let read = read_test_report(verbose.as_bytes()).unwrap();
    assert_eq!(read.to_string(), "1 passed, 1 failed, 1 skipped");
    assert!(
        read.skipped_names.contains("test_b (m.T.test_b)")
            && read.failed_names.contains("test_c (m.T.test_c)")
    );
    // Cut off, or with the summary of something else before it.
    assert!(counts("..\n").contains("no plan"));
    assert!(counts("Ran 3 tests in 0.1s\n\nOK\nRan 1 test in 0.1s\n\nOK\n").contains("more than one number"));
}

#[test]
fn a_json_report_is_one_of_pytest_or_of_nextest() {
    let pytest = r#"{"created": 1.5, "exitcode": 1, "summary": {"passed": 1, "failed": 1, "total": 3}, "tests": [
        {"nodeid": "test_a.py::one", "outcome": "passed"}, {"nodeid": "test_a.py::two", "outcome": "error"},
        {"nodeid": "test_a.py::three", "outcome": "skipped"}]}"#;
    assert_eq!(counts(pytest), "1 passed, 1 failed, 1 skipped");
    let nextest = "{\"type\":\"suite\",\"event\":\"started\",\"test_count\":3}\n\
        {\"type\":\"test\",\"event\":\"started\",\"name\":\"a::b\"}\n\
        {\"type\":\"test\",\"event\":\"ok\",\"name\":\"a::b\",\"exec_time\":0.01}\n\
        {\"type\":\"test\",\"event\":\"ignored\",\"name\":\"a::c\"}\n\
        {\"type\":\"test\",\"event\":\"failed\",\"name\":\"a::d\",\"stdout\":\"x\"}\n\
        {\"type\":\"suite\",\"event\":\"failed\",\"passed\":1,\"failed\":1}\n";
    assert_eq!(counts(nextest), "1 passed, 1 failed, 1 skipped");
    let cut = nextest.lines().take(3).collect::<Vec<_>>().join("\n");
    assert_eq!(counts(&cut), "the report is cut off: a suite did not end");
}

#[test]
fn a_report_that_contradicts_itself_counts_nothing() {
    assert_eq!(counts(""), "the report is empty");
    assert_eq!(
        counts(r#"<testsuite tests="9"><testcase name="a"/></testsuite>"#),
        "the report says that it has 9 tests, and has 1"
    );
    assert_eq!(
        counts("<html></html>"),
        "the report is no JUnit report: it has no `testsuites` or `testsuite`"
    );
    let cut = JUNIT.find("<testcase classname=\"test_calc\" name=\"test_div\"").unwrap();
    assert!(counts(&JUNIT[..cut]).contains("cut off"), "{}", counts(&JUNIT[..cut]));
    let missing = r#"{"summary": {"total": 2}, "tests": [{"nodeid": "a", "outcome": "passed"}]}"#;
    assert_eq!(counts(missing), "the report says that it has 2 tests, and has 1");
    assert!(read_test_report(&[0xff, 0xfe]).is_err());
}

proptest! {
    #[test]
    fn no_text_panics(text in ".{0,200}") {
        let _ = read_test_report(text.as_bytes());
    }

    #[test]
    fn no_part_of_a_report_passes_as_a_whole_one(at in 0..JUNIT.len()) {
        if JUNIT.is_char_boundary(at) {
            prop_assert!(read_test_report(&JUNIT.as_bytes()[..at]).is_err());
        }
    }
}
