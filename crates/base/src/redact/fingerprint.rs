//! Masking of secrets whose values are not known any more, by salted digests of their forms.
//!
//! A value given to a step and has another value now can still be in files and outputs. What is recorded of it cannot
//! be turned back into it, and is enough to find it: of each form its length, 16 bits of a rolling hash, which pass
//! over most texts quickly, and a salted digest, which decides.
//!
//! **Invariant:** the masked text is the same however the bytes were cut into chunks.
//!
//! Not found: a form with line ends in between.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{forms::forms, mask::STARS};
use crate::digest::Sha256Digest;

/// The shortest form recorded, in bytes: shorter ones could be guessed.
const MIN_FORM_BYTES: usize = 8;

/// The base of the rolling hash, modulo 2^64.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// The traces of a secret: enough to find its forms, and not to restore them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SecretFingerprint {
    /// A random text.
    salt: String,
    forms: Vec<FormTrace>,
}

/// The trace of one form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct FormTrace {
    /// The length in bytes.
    length: usize,
    /// The highest bits of the rolling hash.
    hash: u16,
    digest: Sha256Digest,
}

impl SecretFingerprint {
    /// Computes the traces of all forms of a secret.
    pub fn of(secret: &str, salt: String) -> Self {
        let long = forms([secret]).into_iter().filter(|form| form.len() >= MIN_FORM_BYTES);
        let forms = long.map(|form| FormTrace::of(form.as_bytes(), &salt)).collect();
        Self { salt, forms }
    }

    /// True if it was made of this secret.
    pub fn is_of(&self, secret: &str) -> bool {
        *self == Self::of(secret, self.salt.clone())
    }
}

impl FormTrace {
    fn of(form: &[u8], salt: &str) -> Self {
        let digest = Sha256Digest::of_parts([salt.as_bytes(), form]);
        Self { length: form.len(), hash: highest_bits(hash(form)), digest }
    }
}

/// The traces of some secrets, by the length of their forms.
#[derive(Debug, Default)]
pub(super) struct FingerprintIndex {
    by_length: BTreeMap<usize, Vec<(u16, Sha256Digest, Arc<str>)>>,
}

impl FingerprintIndex {
    /// Returns the index; `None`: there is nothing to find.
    pub(super) fn new<'a>(fingerprints: impl IntoIterator<Item = &'a SecretFingerprint>) -> Option<Self> {
        let mut by_length: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        for fingerprint in fingerprints {
            let salt: Arc<str> = fingerprint.salt.as_str().into();
            for form in &fingerprint.forms {
                by_length.entry(form.length).or_default().push((form.hash, form.digest, Arc::clone(&salt)));
            }
        }
        (!by_length.is_empty()).then_some(Self { by_length })
    }

    /// Returns the length of the longest form.
    fn longest(&self) -> usize {
        self.by_length.keys().next_back().copied().unwrap_or(0)
    }

    /// Finds all forms ending behind a position. Those overlapping are one range; all are in order.
    pub(super) fn find(&self, bytes: &[u8], from: usize) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for (length, traces) in &self.by_length {
            let first = from.saturating_sub(length - 1);
            let windows = bytes.get(first..).unwrap_or_default();
            for (at, hash) in RollingHashes::of(windows, *length) {
                let bits = highest_bits(hash);
                let window = windows.get(at..at + length).unwrap_or_default();
                let is_form = |(hash, digest, salt): &(u16, Sha256Digest, Arc<str>)| {
                    *hash == bits && *digest == Sha256Digest::of_parts([salt.as_bytes(), window])
                };
                if traces.iter().any(is_form) {
                    found.push(first + at..first + at + length);
                }
            }
        }
        found.sort_by_key(|range| range.start);
        merged(found)
    }
}

/// Unites ranges in order overlapping.
fn merged(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Returns the bytes with each of some ranges in order replaced.
pub(super) fn starred(bytes: &[u8], ranges: &[Range<usize>]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(bytes.len());
    let mut done = 0;
    for range in ranges {
        shown.extend_from_slice(bytes.get(done..range.start).unwrap_or_default());
        shown.extend_from_slice(STARS.as_bytes());
        done = range.end;
    }
    shown.extend_from_slice(bytes.get(done..).unwrap_or_default());
    shown
}

/// Masks bytes that come in chunks. The last bytes, one less than the longest form has, are held back.
#[derive(Debug)]
pub(super) struct FingerprintStream {
    index: Arc<FingerprintIndex>,
    held_back: Vec<u8>,
    /// The forms in the bytes held back.
    pending: Vec<Range<usize>>,
    pub(super) has_masked: bool,
}

impl FingerprintStream {
    pub(super) fn new(index: Arc<FingerprintIndex>) -> Self {
        Self { index, held_back: Vec::new(), pending: Vec::new(), has_masked: false }
    }

    /// Takes a chunk, and returns the bytes that can be shown by now.
    pub(super) fn feed(&mut self, chunk: &[u8]) -> Vec<u8> {
        let from = self.held_back.len();
        self.held_back.extend_from_slice(chunk);
        self.pending.extend(self.index.find(&self.held_back, from));
        self.pending.sort_by_key(|range| range.start);
        self.pending = merged(std::mem::take(&mut self.pending));
        let open = self.held_back.len().saturating_sub(self.index.longest() - 1);
        // A form that may go on in another one is not cut.
        let across = self.pending.iter().find(|range| range.start < open && open < range.end);
        self.take(across.map_or(open, |range| range.start))
    }

    /// Returns the bytes held back, at the end of the input.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        self.take(self.held_back.len())
    }

    fn take(&mut self, end: usize) -> Vec<u8> {
        let shown: Vec<Range<usize>> = self.pending.extract_if(.., |range| range.end <= end).collect();
        self.has_masked |= !shown.is_empty();
        let taken: Vec<u8> = self.held_back.drain(..end).collect();
        for range in &mut self.pending {
            *range = range.start - end..range.end - end;
        }
        starred(&taken, &shown)
    }
}

/// The rolling hashes of all windows of a length, each with its position.
struct RollingHashes<'a> {
    bytes: &'a [u8],
    length: usize,
    at: usize,
    hash: u64,
    /// The weight of the byte that leaves a window.
    weight: u64,
}

impl<'a> RollingHashes<'a> {
    fn of(bytes: &'a [u8], length: usize) -> Self {
        let weight = (1..length).fold(1_u64, |weight, _| weight.wrapping_mul(BASE));
        Self { bytes, length, at: 0, hash: bytes.get(..length).map_or(0, hash), weight }
    }
}

impl Iterator for RollingHashes<'_> {
    type Item = (usize, u64);

    fn next(&mut self) -> Option<Self::Item> {
        let (at, end) = (self.at, self.at + self.length);
        if end > self.bytes.len() {
            return None;
        }
        let found = (at, self.hash);
        self.at += 1;
        if let (Some(old), Some(new)) = (self.bytes.get(at), self.bytes.get(end)) {
            let rest = self.hash.wrapping_sub(u64::from(*old).wrapping_mul(self.weight));
            self.hash = rest.wrapping_mul(BASE).wrapping_add(u64::from(*new));
        }
        Some(found)
    }
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |hash, byte| hash.wrapping_mul(BASE).wrapping_add(u64::from(*byte)))
}

fn highest_bits(hash: u64) -> u16 {
    (hash >> 48) as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{SecretMask, forms},
        SecretFingerprint,
    };

    const SECRET: &str = "tr0ub4dor&3-staple";

    fn mask() -> SecretMask {
        let fingerprint = SecretFingerprint::of(SECRET, "salt".into());
        SecretMask::default().with_fingerprints([&fingerprint])
    }

    #[test]
    fn each_long_form_is_masked_and_its_record_has_none_of_them() {
        let mask = mask();
        let record = serde_json::to_string(&SecretFingerprint::of(SECRET, "salt".into())).unwrap();
        for form in forms([SECRET]).into_iter().filter(|form| form.len() >= 8) {
            assert_eq!(mask.text(&format!("a {form} z")), "a *** z", "{form}");
            assert!(!record.contains(&form), "{form}");
        }
        assert_eq!(
            mask.text("nothing of the kind, tr0ub4dor&3-stapl"),
            "nothing of the kind, tr0ub4dor&3-stapl"
        );
        assert_eq!(mask.text(&format!("{SECRET}{SECRET}")), "******");
    }

    #[test]
    fn a_fingerprint_is_of_its_secret_alone() {
        let fingerprint = SecretFingerprint::of(SECRET, "salt".into());
        assert!(fingerprint.is_of(SECRET) && !fingerprint.is_of("tr0ub4dor&3-stapler"));
        assert_ne!(fingerprint, SecretFingerprint::of(SECRET, "pepper".into()));
    }

    proptest! {
        #[test]
        fn chunks_change_nothing(before in "[a-z]{0,90}", after in "[a-z]{0,90}", cuts in prop::collection::vec(1_usize..40, 1..20)) {
            let text = format!("{before}{SECRET}{after}{SECRET}{SECRET}");
            let mut stream = mask().stream();
            let (mut shown, mut rest) = (Vec::new(), text.as_bytes());
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, more) = rest.split_at((*cut).min(rest.len()));
                shown.extend_from_slice(&stream.feed(chunk));
                rest = more;
            }
            shown.extend_from_slice(&stream.finish());
            prop_assert!(stream.has_masked());
            prop_assert_eq!(String::from_utf8(shown).unwrap(), mask().text(&text).into_owned());
        }
    }
}
