use std::{borrow::Cow, sync::Arc};

use serde_json::Value;

use super::{
    MaskingStream, SecretFingerprint,
    fingerprint::{FingerprintIndex, starred},
    forms::forms,
    patterns::SecretPatterns,
    scan::SecretScan,
};

/// The text that replaces a secret.
pub(super) const STARS: &str = "***";

/// Every form of every secret. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct SecretMask {
    pub(super) patterns: Option<Arc<SecretPatterns>>,
    /// The traces of secrets whose values are not known any more.
    pub(super) fingerprints: Option<Arc<FingerprintIndex>>,
}

impl SecretMask {
    /// Makes a mask for these secrets alone. Weak secrets, and weak parts of others, stay visible:
    /// see [`weakness`](super::weakness).
    ///
    /// # Panics
    /// If the secrets have gigabytes.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        Self { patterns: SecretPatterns::new(&forms(secrets)).map(Arc::new), fingerprints: None }
    }

    /// Masks secrets, too, of which only traces are known.
    #[must_use]
    pub fn with_fingerprints<'a>(
        self,
        fingerprints: impl IntoIterator<Item = &'a SecretFingerprint>,
    ) -> Self {
        Self { fingerprints: FingerprintIndex::new(fingerprints).map(Arc::new), ..self }
    }

    /// True if there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_none() && self.fingerprints.is_none()
    }

    /// Returns the text with every secret masked.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if let Some(index) = &self.fingerprints {
            let found = index.find(text.as_bytes(), 0);
            if !found.is_empty() {
                let masked = starred(text.as_bytes(), &found);
                let rest = Self { patterns: self.patterns.clone(), fingerprints: None };
                return Cow::Owned(rest.text(&String::from_utf8_lossy(&masked)).into_owned());
            }
        }
        let Some(patterns) = &self.patterns else {
            return Cow::Borrowed(text);
        };
        let mut found = Vec::new();
        SecretScan::new(patterns).run(patterns, text.as_bytes(), 0, &mut found);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut masked = String::with_capacity(text.len());
        let mut done = 0;
        for secret in found {
            masked.push_str(text.get(done..secret.start).unwrap_or(""));
            masked.push_str(STARS);
            done = secret.end;
        }
        masked.push_str(text.get(done..).unwrap_or(""));
        Cow::Owned(masked)
    }

    /// Masks every secret in the texts, numbers and keys of a value.
    pub fn value(&self, value: &mut Value) {
        if self.is_empty() {
            return;
        }
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                if let Cow::Owned(masked) = self.text(&number.to_string()) {
                    *value = Value::String(masked);
                }
            }
            Value::String(text) => {
                if let Cow::Owned(masked) = self.text(text) {
                    *text = masked;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                let each = std::mem::take(fields).into_iter();
                fields.extend(each.map(|(key, mut field)| {
                    self.value(&mut field);
                    (self.text(&key).into_owned(), field)
                }));
            }
        }
    }

    /// Returns a stream that masks bytes that come in chunks.
    pub fn stream(&self) -> MaskingStream {
        MaskingStream::new(self.clone())
    }
}
