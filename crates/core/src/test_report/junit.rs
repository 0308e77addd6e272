use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{TestCounts, TestEnd};

/// A test case while it is read.
struct OpenCase {
    name: String,
    end: TestEnd,
}

/// Reads JUnit XML: test cases, with a `failure`, an `error` or a `skipped` inside.
pub(super) fn read(text: &str) -> Result<TestCounts, String> {
    let mut reader = Reader::from_str(text);
    let (mut counts, mut open, mut depth, mut suites) = (TestCounts::default(), None, 0_u32, 0_u32);
    let mut promised = None;
    loop {
        let event = reader.read_event().map_err(|error| format!("the report is not valid XML: {error}"))?;
        match event {
            Event::Start(tag) => {
                depth += 1;
                suites += u32::from(depth == 1 && is_root(&tag));
                begin(&tag, depth, &mut open, &mut promised);
            }
            Event::Empty(tag) => {
                suites += u32::from(depth == 0 && is_root(&tag));
                begin(&tag, depth + 1, &mut open, &mut promised);
                if tag.name().as_ref() == b"testcase" {
                    close(&mut open, &mut counts);
                }
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                if tag.name().as_ref() == b"testcase" {
                    close(&mut open, &mut counts);
                }
            }
            Event::Eof if depth > 0 => return Err("the report is cut off".into()),
            Event::Eof => break,
            _ => {}
        }
    }
    if suites != 1 {
        return Err("the report is no JUnit report: it has no `testsuites` or `testsuite`".into());
    }
    match promised {
        Some(promised) if promised != counts.total() => {
            Err(format!("the report says that it has {promised} tests, and has {}", counts.total()))
        }
        _ => Ok(counts),
    }
}

fn is_root(tag: &BytesStart<'_>) -> bool {
    matches!(tag.name().as_ref(), b"testsuites" | b"testsuite")
}

/// Applies the start of an element. The number of tests of the outermost suite is a promise.
fn begin(tag: &BytesStart<'_>, depth: u32, open: &mut Option<OpenCase>, promised: &mut Option<u64>) {
    match (tag.name().as_ref(), open) {
        (b"testsuites" | b"testsuite", _) if depth == 1 => {
            *promised = attribute(tag, b"tests").and_then(|tests| tests.parse().ok());
        }
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
