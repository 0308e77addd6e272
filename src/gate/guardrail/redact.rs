use super::{Finding, find};

/// How often a text is gone over: what is put in the place of a finding can uncover another.
const TIMES: usize = 16;

/// A text without what some detectors see in it: `[redacted: email]` stands there instead. All else
/// stays, byte for byte. `None`: nothing was found.
pub fn redacted(detectors: &[String], text: &str) -> Option<String> {
    let mut findings = find(detectors, text);
    if findings.is_empty() {
        return None;
    }
    let mut text = text.to_owned();
    for _ in 0..TIMES {
        text = without(&text, &findings);
        findings = find(detectors, &text);
        if findings.is_empty() {
            return Some(text);
        }
    }
    // What uncovers more and more is not worth keeping.
    let name = findings.first().map_or("text", |first| first.detector);
    Some(mark(name))
}

/// Replaces findings; those that overlap are one, called by the first.
pub(super) fn without(text: &str, findings: &[Finding]) -> String {
    let mut new = String::with_capacity(text.len());
    let mut kept = 0;
    let mut findings = findings.iter().peekable();
    while let Some(first) = findings.next() {
        let mut end = first.at.end;
        while let Some(next) = findings.next_if(|next| next.at.start < end) {
            end = end.max(next.at.end);
        }
        new.push_str(text.get(kept..first.at.start).unwrap_or_default());
        new.push_str(&mark(first.detector));
        kept = end;
    }
    new.push_str(text.get(kept..).unwrap_or_default());
    new
}

fn mark(detector: &str) -> String {
    format!("[redacted: {detector}]")
}
