use serde::Deserialize;

use super::{TestCounts, TestEnd, TestReportError};

/// The report of `pytest-json-report`.
#[derive(Deserialize)]
struct PytestReport {
    tests: Vec<PytestTest>,
    summary: PytestSummary,
}

#[derive(Deserialize)]
struct PytestSummary {
    total: u64,
}

#[derive(Deserialize)]
struct PytestTest {
    nodeid: String,
    outcome: String,
}

/// A line of the `libtest-json` format, which `cargo nextest` and `cargo test` write.
#[derive(Deserialize)]
struct LibtestLine {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    event: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    test_count: Option<u64>,
    /// The number of failed tests, at the end of a suite.
    #[serde(default)]
    failed: Option<u64>,
}

/// Reads a JSON report: one object of pytest, or a line for each event of libtest.
pub(super) fn read(text: &str) -> Result<TestCounts, TestReportError> {
    match serde_json::from_str::<PytestReport>(text) {
        Ok(report) => read_pytest(&report),
        Err(error) if error.is_eof() => Err(TestReportError::CutOff),
        Err(_) => read_libtest(text),
    }
}

fn read_pytest(report: &PytestReport) -> Result<TestCounts, TestReportError> {
    let mut counts = TestCounts::default();
    for test in &report.tests {
        let end = match test.outcome.as_str() {
            "passed" | "xpassed" => TestEnd::Passed,
            "skipped" | "xfailed" | "deselected" => TestEnd::Skipped,
            _ => TestEnd::Failed,
        };
        counts.add(&test.nodeid, end);
    }
    let total = report.summary.total;
    if total == counts.total() {
        return Ok(counts);
    }
    Err(TestReportError::OtherTotal { total, has: counts.total() })
}

fn read_libtest(text: &str) -> Result<TestCounts, TestReportError> {
    let (mut counts, mut promised, mut open, mut failed) = (TestCounts::default(), 0_u64, 0_i64, 0_u64);
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let line: LibtestLine =
            serde_json::from_str(line).map_err(|cause| TestReportError::NotEvent { line: number, cause })?;
        match (line.kind.as_str(), line.event.as_str()) {
            ("suite", "started") => {
                open += 1;
                promised = promised.saturating_add(line.test_count.unwrap_or_default());
            }
            ("suite", event) => {
                open -= 1;
                let least = u64::from(event == "failed");
                failed = failed.saturating_add(line.failed.unwrap_or_default().max(least));
            }
            ("test", "ok") => counts.add(&line.name, TestEnd::Passed),
            ("test", "ignored") => counts.add(&line.name, TestEnd::Skipped),
            ("test", "failed" | "timeout") => counts.add(&line.name, TestEnd::Failed),
            _ => {}
        }
    }
    if open != 0 {
        return Err(TestReportError::OpenSuite);
    }
    if failed > u64::from(counts.failed) {
        return Err(TestReportError::OtherEnds { end: "failed", says: failed, has: counts.failed });
    }
    if counts.total() < promised {
        return Err(TestReportError::MissingTests { announced: promised, has: counts.total() });
    }
    Ok(counts)
}
