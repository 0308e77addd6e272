use std::borrow::Cow;
use std::ops::Range;

use super::Mask;
use super::mask::STARS;
use super::scan::Scan;

/// Masks bytes that come in chunks. What could be the beginning of a secret is held back until
/// it is known to be one or not: less than the longest form of a secret with its line ends, and
/// usually nothing.
#[derive(Debug)]
pub struct Stream {
    mask: Mask,
    /// None if there is nothing to mask.
    scan: Option<Scan>,
    held: Vec<u8>,
    /// The secrets in what is held, of which none is shown yet.
    found: Vec<Range<usize>>,
    /// How much of what is held belongs to a secret whose stars are out already.
    hidden: usize,
    has_masked: bool,
}

impl Stream {
    pub(super) fn new(mask: Mask) -> Self {
        Self {
            scan: mask.0.as_deref().map(Scan::new),
            mask,
            held: Vec::new(),
            found: Vec::new(),
            hidden: 0,
            has_masked: false,
        }
    }

    /// Takes a chunk in and gives what can be shown by now.
    pub fn feed<'c>(&mut self, chunk: &'c [u8]) -> Cow<'c, [u8]> {
        let (Some(patterns), Some(scan)) = (&self.mask.0, &mut self.scan) else {
            return Cow::Borrowed(chunk);
        };
        if self.held.is_empty() {
            scan.run(patterns, chunk, 0, &mut self.found);
            let (shown, open) = chunk.split_at(chunk.len() - scan.open(patterns));
            if self.found.is_empty() {
                self.held.extend_from_slice(open);
                return Cow::Borrowed(shown);
            }
            self.held.extend_from_slice(chunk);
        } else {
            let from = self.held.len();
            self.held.extend_from_slice(chunk);
            scan.run(patterns, &self.held, from, &mut self.found);
        }
        let end = self.held.len() - scan.open(patterns);
        Cow::Owned(self.show(end))
    }

    /// Gives what was held back; nothing more will come.
    pub fn finish(&mut self) -> Vec<u8> {
        self.scan = self.mask.0.as_deref().map(Scan::new);
        self.show(self.held.len())
    }

    /// Whether a secret was in what was taken in, as far as it was given.
    pub fn has_masked(&self) -> bool {
        self.has_masked
    }

    /// Shows what is held up to `end`; no secret that begins before it is incomplete.
    fn show(&mut self, end: usize) -> Vec<u8> {
        let mut shown = Vec::with_capacity(end);
        let mut done = self.hidden;
        self.has_masked |= !self.found.is_empty();
        for secret in self.found.extract_if(.., |secret| secret.start < end) {
            if secret.start >= done {
                shown.extend_from_slice(self.held.get(done..secret.start).unwrap_or(&[]));
                shown.extend_from_slice(STARS.as_bytes());
            }
            done = done.max(secret.end);
        }
        shown.extend_from_slice(self.held.get(done..end).unwrap_or(&[]));
        self.hidden = done.saturating_sub(end);
        self.held.drain(..end);
        for secret in &mut self.found {
            *secret = secret.start - end..secret.end - end;
        }
        shown
    }
}
