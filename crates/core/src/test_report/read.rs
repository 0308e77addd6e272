use super::{TestCounts, json, junit, tap, unittest};

/// The maximum size of a report, in bytes.
pub const MAX_REPORT_BYTES: usize = 16 * 1024 * 1024;

/// Reads a report; its first character, or its end, tells the format. The error is the reason why it counts nothing.
pub fn read_test_report(bytes: &[u8]) -> Result<TestCounts, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("the report is not UTF-8: {error}"))?;
    let text = text.trim_start_matches('\u{feff}').trim();
    match text.chars().next() {
        None => Err("the report is empty".into()),
        Some('<') => junit::read(text),
        Some('{') => json::read(text),
        Some(_) if unittest::is_report(text) => unittest::read(text),
        Some(_) => tap::read(text),
    }
}
