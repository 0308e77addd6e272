use std::{borrow::Cow, ops::Range};

use super::{SecretMask, fingerprint::FingerprintStream, mask::STARS, scan::SecretScan};

/// Masks bytes that come in chunks. A possible prefix of a secret is held back until it is decided:
/// less than the longest form of a secret with its line ends, and usually nothing.
#[derive(Debug)]
pub struct MaskingStream {
    mask: SecretMask,
    /// The search for secrets of which only traces are known; it comes first.
    fingerprints: Option<FingerprintStream>,
    /// None if there is nothing to mask.
    scan: Option<SecretScan>,
    held_back: Vec<u8>,
    /// The secrets in the bytes held back, none of which is shown yet.
    pending_matches: Vec<Range<usize>>,
    /// The number of held bytes of a secret whose stars are written already.
    starred_bytes: usize,
    has_masked: bool,
}

impl MaskingStream {
    pub(super) fn new(mask: SecretMask) -> Self {
        Self {
            scan: mask.patterns.as_deref().map(SecretScan::new),
            fingerprints: mask.fingerprints.clone().map(FingerprintStream::new),
            mask,
            held_back: Vec::new(),
            pending_matches: Vec::new(),
            starred_bytes: 0,
            has_masked: false,
        }
    }

    /// Takes a chunk and returns the bytes that can be shown by now.
    pub fn feed<'c>(&mut self, chunk: &'c [u8]) -> Cow<'c, [u8]> {
        match &mut self.fingerprints {
            None => self.feed_known(chunk),
            Some(fingerprints) => {
                let passed = fingerprints.feed(chunk);
                Cow::Owned(self.feed_known(&passed).into_owned())
            }
        }
    }

    /// Takes a chunk with nothing in it of which only traces are known.
    fn feed_known<'c>(&mut self, chunk: &'c [u8]) -> Cow<'c, [u8]> {
        let (Some(patterns), Some(scan)) = (&self.mask.patterns, &mut self.scan) else {
            return Cow::Borrowed(chunk);
        };
        if self.held_back.is_empty() {
            scan.run(patterns, chunk, 0, &mut self.pending_matches);
            let (shown, open) = chunk.split_at(chunk.len() - scan.open(patterns));
            if self.pending_matches.is_empty() {
                self.held_back.extend_from_slice(open);
                return Cow::Borrowed(shown);
            }
            self.held_back.extend_from_slice(chunk);
        } else {
            let from = self.held_back.len();
            self.held_back.extend_from_slice(chunk);
            scan.run(patterns, &self.held_back, from, &mut self.pending_matches);
        }
        let end = self.held_back.len() - scan.open(patterns);
        Cow::Owned(self.take_visible(end))
    }

    /// Returns the bytes held back, at the end of the input.
    pub fn finish(&mut self) -> Vec<u8> {
        let passed = self.fingerprints.as_mut().map(FingerprintStream::finish).unwrap_or_default();
        let mut last = self.feed_known(&passed).into_owned();
        self.scan = self.mask.patterns.as_deref().map(SecretScan::new);
        last.extend(self.take_visible(self.held_back.len()));
        last
    }

    /// True if no bytes are held back.
    pub fn is_idle(&self) -> bool {
        self.fingerprints.is_none() && self.held_back.is_empty()
    }

    /// True if the bytes returned so far had a secret.
    pub fn has_masked(&self) -> bool {
        self.has_masked || self.fingerprints.as_ref().is_some_and(|fingerprints| fingerprints.has_masked)
    }

    /// Returns the held bytes up to `end`; no secret beginning before it is incomplete.
    fn take_visible(&mut self, end: usize) -> Vec<u8> {
        let mut shown = Vec::with_capacity(end);
        let mut done = self.starred_bytes;
        self.has_masked |= !self.pending_matches.is_empty();
        for secret in self.pending_matches.extract_if(.., |secret| secret.start < end) {
            if secret.start >= done {
                shown.extend_from_slice(self.held_back.get(done..secret.start).unwrap_or(&[]));
                shown.extend_from_slice(STARS.as_bytes());
            }
            done = done.max(secret.end);
        }
        shown.extend_from_slice(self.held_back.get(done..end).unwrap_or(&[]));
        self.starred_bytes = done.saturating_sub(end);
        self.held_back.drain(..end);
        for secret in &mut self.pending_matches {
            *secret = secret.start - end..secret.end - end;
        }
        shown
    }
}
