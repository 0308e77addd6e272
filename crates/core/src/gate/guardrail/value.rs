use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    DetectorFinding, find, redact,
    secrets::{is_random, names_secret},
};

/// The findings in a value: the count by detector, kind and place.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FindingCounts(pub(super) BTreeMap<(&'static str, &'static str, String), usize>);

/// A search through a value.
pub(super) struct ValueSearch<'a> {
    pub(super) detectors: &'a [String],
    pub(super) counts: FindingCounts,
    /// True if there was a finding in a key, which is not replaced.
    pub(super) in_key: bool,
}

impl ValueSearch<'_> {
    /// Searches a value and everything in it.
    pub(super) fn search_value(&mut self, value: &Value, place: &str) {
        match value {
            Value::String(text) => self.count_findings(&find(self.detectors, text), place),
            Value::Number(number) => self.count_findings(&find(self.detectors, &number.to_string()), place),
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.search_value(item, &format!("{place}[{at}]"));
                }
            }
            Value::Object(fields) => {
                for (key, field) in fields {
                    let inside = find(self.detectors, key);
                    self.in_key |= !inside.is_empty();
                    self.count_findings(&inside, &format!("a key of {place}"));
                    let place =
                        if inside.is_empty() { format!("{place}.{key}") } else { format!("{place}.*") };
                    if self.is_assigned(key, field) {
                        self.count("secrets", "an assigned secret", &place);
                    } else {
                        self.search_value(field, &place);
                    }
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn count_findings(&mut self, findings: &[DetectorFinding], place: &str) {
        for finding in findings {
            self.count(finding.detector, finding.kind, place);
        }
    }

    fn count(&mut self, detector: &'static str, kind: &'static str, place: &str) {
        let key = (detector, kind, place.to_owned());
        *self.counts.0.entry(key).or_default() += 1;
    }

    /// True if the name of a field marks its random value as a secret.
    fn is_assigned(&self, key: &str, field: &Value) -> bool {
        let is_active = self.detectors.iter().any(|name| name == "secrets");
        let Value::String(text) = field else {
            return false;
        };
        is_active && names_secret(key) && is_random(text)
    }

    /// Returns a value without the findings; keys stay as they are.
    pub(super) fn without_findings(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match redact(self.detectors, text) {
                Some(text) => text.into(),
                None => value.clone(),
            },
            Value::Number(number) => match redact(self.detectors, &number.to_string()) {
                Some(text) => text.into(),
                None => value.clone(),
            },
            Value::Array(items) => items.iter().map(|item| self.without_findings(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter().map(|(key, field)| {
                    let field = if self.is_assigned(key, field) {
                        "[redacted: secrets]".into()
                    } else {
                        self.without_findings(field)
                    };
                    (key.clone(), field)
                });
                Value::Object(fields.collect())
            }
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }
}
