use serde_json::Value;

use crate::gate::{
    GateAnswer,
    guardrail::{
        DetectorFinding, find, is_detector,
        value::{FindingCounts, ValueSearch},
    },
};
use wf_model::{Guardrail, OnFinding};

/// The maximum number of findings reported one by one.
const MOST: usize = 20;

/// The result of a guardrail for a value.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardrailResult {
    /// The answer. The rewritten value is not in it: the caller knows its place.
    pub answer: GateAnswer,
    /// The value without the findings, if it is to be replaced.
    pub replacement: Option<Value>,
}

/// Checks a value, which findings refer to as `place`.
pub fn apply_guardrail(guardrail: &Guardrail, value: &Value, place: &str) -> GuardrailResult {
    let unknown = guardrail.detect.iter().find(|name| !is_detector(name));
    if let Some(name) = unknown {
        return GuardrailResult {
            answer: GateAnswer::block(format!("Unknown detector `{name}`")),
            replacement: None,
        };
    }
    let mut looking =
        ValueSearch { detectors: &guardrail.detect, counts: FindingCounts::default(), in_key: false };
    looking.search_value(value, place);
    if looking.counts.0.is_empty() {
        return GuardrailResult { answer: GateAnswer::pass(), replacement: None };
    }
    let findings = looking.counts.describe();
    let mut instead = None;
    let mut answer = match guardrail.on_find {
        OnFinding::Block => GateAnswer::block(format!("Found {findings}")),
        OnFinding::Ask => GateAnswer::ask(format!("Found {findings}")),
        OnFinding::Flag => GateAnswer::pass(),
        OnFinding::Redact if looking.in_key => {
            GateAnswer::block(format!("Found {findings}; names of fields cannot be redacted"))
        }
        OnFinding::Redact => {
            instead = Some(looking.without_findings(value));
            GateAnswer::pass()
        }
    };
    answer.flags = looking.counts.flags();
    GuardrailResult { answer, replacement: instead }
}

impl FindingCounts {
    /// Returns one sentence about the findings, without their text.
    fn describe(&self) -> String {
        self.flags().join("; ")
    }

    /// Returns the findings, one by one: the detector, the kind, the count, the place.
    fn flags(&self) -> Vec<String> {
        let all = self.0.iter().take(MOST);
        let mut flags: Vec<String> = all
            .map(|((detector, kind, place), count)| match count {
                1 => format!("{detector}: {kind} in {place}"),
                count => format!("{detector}: {kind} in {place}, {count} times"),
            })
            .collect();
        if self.0.len() > MOST {
            flags.push(format!("and in {} more places", self.0.len() - MOST));
        }
        flags
    }
}

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
