use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use serde_json::Value;

use super::{Stream, forms};

/// What stands in place of a secret.
pub(super) const STARS: &str = "***";

/// Every form of every secret. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Mask(pub(super) Option<Arc<Patterns>>);

/// What is looked for.
#[derive(Debug)]
pub(super) struct Patterns {
    search: AhoCorasick,
    /// In order, for the search of beginnings.
    sorted: Vec<String>,
    longest: usize,
}

impl Mask {
    /// A mask for these secrets. Parts of them that are shorter than
    /// [`SHORTEST`](super::SHORTEST) characters stay visible.
    ///
    /// # Panics
    /// If the secrets have gigabytes.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let sorted: std::collections::BTreeSet<String> =
            secrets.into_iter().flat_map(forms::of).collect();
        let sorted: Vec<String> = sorted.into_iter().collect();
        if sorted.is_empty() {
            return Self(None);
        }
        Self(Some(Arc::new(Patterns {
            search: AhoCorasick::new(&sorted).expect("secrets have fewer than 2^31 bytes"),
            longest: sorted.iter().map(String::len).max().unwrap_or(0),
            sorted,
        })))
    }

    /// Whether there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The text with every secret masked.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(patterns) = &self.0 else {
            return Cow::Borrowed(text);
        };
        let found = patterns.find(text.as_bytes());
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

    /// Masks bytes that come in chunks.
    pub fn stream(&self) -> Stream {
        Stream::new(self.clone())
    }
}

impl Patterns {
    /// The parts to mask, in order. Secrets that overlap are one part.
    pub(super) fn find(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut parts: Vec<Range<usize>> = Vec::new();
        // They come in the order of their ends.
        for found in self.search.find_overlapping_iter(bytes) {
            let mut part = found.range();
            while let Some(last) = parts.pop_if(|last| last.end > part.start) {
                part.start = part.start.min(last.start);
            }
            parts.push(part);
        }
        parts
    }

    /// Where the longest end begins that could be the beginning of a secret.
    pub(super) fn open_end(&self, bytes: &[u8]) -> usize {
        let first = bytes.len().saturating_sub(self.longest.saturating_sub(1));
        let begins = |end: &[u8]| {
            let at = self.sorted.partition_point(|form| form.as_bytes() < end);
            let next = self.sorted.get(at);
            next.is_some_and(|form| form.as_bytes().starts_with(end))
        };
        (first..bytes.len())
            .find(|at| bytes.get(*at..).is_some_and(begins))
            .unwrap_or(bytes.len())
    }
}
