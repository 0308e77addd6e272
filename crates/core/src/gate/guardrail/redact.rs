use super::{DetectorFinding, find};

/// The maximum number of passes over a text: a replacement can uncover another finding.
const TIMES: usize = 16;

/// Returns a text with every finding replaced: `[redacted: email]` stands there instead. All else
/// stays, byte for byte. `None`: nothing was found.
pub fn redact(detectors: &[String], text: &str) -> Option<String> {
    let mut findings = find(detectors, text);
    if findings.is_empty() {
        return None;
    }
    let mut text = text.to_owned();
    for _ in 0..TIMES {
        text = replace_findings(&text, &findings);
        findings = find(detectors, &text);
        if findings.is_empty() {
            return Some(text);
        }
    }
    // A text that uncovers more and more is replaced as a whole.
    let name = findings.first().map_or("text", |first| first.detector);
    Some(mark(name))
}

/// Replaces findings; overlapping ones are merged, under the name of the first.
pub(super) fn replace_findings(text: &str, findings: &[DetectorFinding]) -> String {
    let mut new = String::with_capacity(text.len());
    let mut kept = 0;
    let mut findings = findings.iter().peekable();
    while let Some(first) = findings.next() {
        let mut end = first.range.end;
        while let Some(next) = findings.next_if(|next| next.range.start < end) {
            end = end.max(next.range.end);
        }
        new.push_str(text.get(kept..first.range.start).unwrap_or_default());
        new.push_str(&mark(first.detector));
        kept = end;
    }
    new.push_str(text.get(kept..).unwrap_or_default());
    new
}

fn mark(detector: &str) -> String {
    format!("[redacted: {detector}]")
}
