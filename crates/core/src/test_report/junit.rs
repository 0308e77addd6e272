use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use super::{TestCounts, TestEnd, TestReportError};

/// A test case while it is read.
struct OpenCase {
    name: String,
    end: TestEnd,
}

/// A suite while it is read: the numbers it says it has, and those counted before it.
struct OpenSuite {
    tests: Option<u64>,
    failed: u64,
    skipped: u64,
    earlier_counts: TestCounts,
}

impl OpenSuite {
    fn new(tag: &BytesStart<'_>, earlier_counts: &TestCounts) -> Self {
        let number = |name: &[u8]| attribute(tag, name).and_then(|text| text.parse::<u64>().ok());
        let failed =
            number(b"failures").unwrap_or_default().saturating_add(number(b"errors").unwrap_or_default());
        let skipped = number(b"skipped").unwrap_or_default();
        Self { tests: number(b"tests"), failed, skipped, earlier_counts: earlier_counts.clone() }
    }

    /// Compares what it says with what is in it.
    fn check(&self, counts: &TestCounts) -> Result<(), TestReportError> {
        let has = counts.total() - self.earlier_counts.total();
        if let Some(total) = self.tests.filter(|tests| *tests != has) {
            return Err(TestReportError::OtherTotal { total, has });
        }
        let [failed, skipped] =
            [(counts.failed, self.earlier_counts.failed), (counts.skipped, self.earlier_counts.skipped)]
                .map(|(now, before)| now - before);
        for (end, says, has) in [("failed", self.failed, failed), ("skipped", self.skipped, skipped)] {
            if says > u64::from(has) {
                return Err(TestReportError::OtherEnds { end, says, has });
            }
        }
        Ok(())
    }
}

/// Reads JUnit XML: test cases, with a `failure`, an `error` or a `skipped` inside.
pub(super) fn read(text: &str) -> Result<TestCounts, TestReportError> {
    let mut reader = Reader::from_str(text);
    let (mut counts, mut open, mut depth, mut roots) = (TestCounts::default(), None, 0_u32, 0_u32);
    let mut suites: Vec<OpenSuite> = Vec::new();
    loop {
        match reader.read_event()? {
            Event::Start(tag) => {
                depth += 1;
                roots += u32::from(depth == 1 && is_suite(tag.name().as_ref()));
                if is_suite(tag.name().as_ref()) {
                    suites.push(OpenSuite::new(&tag, &counts));
                }
                begin(&tag, &mut open)?;
            }
            Event::Empty(tag) => {
                roots += u32::from(depth == 0 && is_suite(tag.name().as_ref()));
                if is_suite(tag.name().as_ref()) {
                    OpenSuite::new(&tag, &counts).check(&counts)?;
                }
                begin(&tag, &mut open)?;
                if tag.name().as_ref() == b"testcase" {
                    close(&mut open, &mut counts);
                }
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                if tag.name().as_ref() == b"testcase" {
                    close(&mut open, &mut counts);
                }
                if let Some(suite) = suites.pop_if(|_| is_suite(tag.name().as_ref())) {
                    suite.check(&counts)?;
                }
            }
            Event::Eof if depth > 0 => return Err(TestReportError::CutOff),
            Event::Eof => break,
            _ => {}
        }
    }
    if roots != 1 {
        return Err(TestReportError::NotJunit);
    }
    Ok(counts)
}

fn is_suite(name: &[u8]) -> bool {
    matches!(name, b"testsuites" | b"testsuite")
}

/// Applies the start of an element.
fn begin(tag: &BytesStart<'_>, open: &mut Option<OpenCase>) -> Result<(), TestReportError> {
    match (tag.name().as_ref(), open) {
        (b"failure" | b"error", None) => return Err(TestReportError::SuiteFailed),
        (b"testcase", open) => {
            let class = attribute(tag, b"classname").filter(|class| !class.is_empty());
            let name = attribute(tag, b"name").unwrap_or_default();
            let name = class.map_or_else(|| name.clone(), |class| format!("{class}::{name}"));
            *open = Some(OpenCase { name, end: TestEnd::Passed });
        }
        (b"failure" | b"error", Some(case)) => case.end = TestEnd::Failed,
        (b"skipped", Some(case)) if case.end == TestEnd::Passed => case.end = TestEnd::Skipped,
        _ => {}
    }
    Ok(())
}

fn close(open: &mut Option<OpenCase>, counts: &mut TestCounts) {
    if let Some(case) = open.take() {
        counts.add(&case.name, case.end);
    }
}

fn attribute(tag: &BytesStart<'_>, name: &[u8]) -> Option<String> {
    let found = tag.attributes().flatten().find(|attribute| attribute.key.as_ref() == name)?;
    let value = String::from_utf8_lossy(&found.value).into_owned();
    Some(quick_xml::escape::unescape(&value).map_or_else(|_| value.clone(), std::borrow::Cow::into_owned))
}
