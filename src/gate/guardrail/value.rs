use std::collections::BTreeMap;

use serde_json::Value;

use super::secrets::{is_random, names_secret};
use super::{Finding, find, redacted};

/// What was found in a value: how often each thing was, by detector, thing and place.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Seen(pub(super) BTreeMap<(&'static str, &'static str, String), usize>);

/// Whoever looks through a value.
pub(super) struct Looking<'a> {
    pub(super) detectors: &'a [String],
    pub(super) seen: Seen,
    /// Whether something was found in a key, where nothing is replaced.
    pub(super) in_key: bool,
}

impl Looking<'_> {
    /// Looks at a value and all that is in it.
    pub(super) fn look(&mut self, value: &Value, place: &str) {
        match value {
            Value::String(text) => self.note(&find(self.detectors, text), place),
            Value::Number(number) => self.note(&find(self.detectors, &number.to_string()), place),
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.look(item, &format!("{place}[{at}]"));
                }
            }
            Value::Object(fields) => {
                for (key, field) in fields {
                    let inside = find(self.detectors, key);
                    self.in_key |= !inside.is_empty();
                    self.note(&inside, &format!("a key of {place}"));
                    let place = if inside.is_empty() {
                        format!("{place}.{key}")
                    } else {
                        format!("{place}.*")
                    };
                    if self.is_assigned(key, field) {
                        self.count("secrets", "an assigned secret", &place);
                    } else {
                        self.look(field, &place);
                    }
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn note(&mut self, findings: &[Finding], place: &str) {
        for finding in findings {
            self.count(finding.detector, finding.what, place);
        }
    }

    fn count(&mut self, detector: &'static str, what: &'static str, place: &str) {
        let key = (detector, what, place.to_owned());
        *self.seen.0.entry(key).or_default() += 1;
    }

    /// Whether the name of a field says that its random value is a secret.
    fn is_assigned(&self, key: &str, field: &Value) -> bool {
        let asked = self.detectors.iter().any(|name| name == "secrets");
        let Value::String(text) = field else {
            return false;
        };
        asked && names_secret(key) && is_random(text)
    }

    /// A value without what was found in it; keys stay as they are.
    pub(super) fn without(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match redacted(self.detectors, text) {
                Some(text) => text.into(),
                None => value.clone(),
            },
            Value::Number(number) => match redacted(self.detectors, &number.to_string()) {
                Some(text) => text.into(),
                None => value.clone(),
            },
            Value::Array(items) => items.iter().map(|item| self.without(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter().map(|(key, field)| {
                    let field = if self.is_assigned(key, field) {
                        "[redacted: secrets]".into()
                    } else {
                        self.without(field)
                    };
                    (key.clone(), field)
                });
                Value::Object(fields.collect())
            }
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }
}
