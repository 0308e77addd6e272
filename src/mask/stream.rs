use std::borrow::Cow;

use super::Mask;
use super::patterns::{Patterns, STARS};

/// Masks bytes that come in chunks. What could be the beginning of a secret is held back until
/// it is known to be one or not: less than the longest form of a secret, and usually nothing.
#[derive(Debug)]
pub struct Stream {
    mask: Mask,
    held: Vec<u8>,
    /// How much of what is held belongs to a secret whose stars are out already.
    hidden: usize,
}

impl Stream {
    pub(super) fn new(mask: Mask) -> Self {
        Self {
            mask,
            held: Vec::new(),
            hidden: 0,
        }
    }

    /// Takes a chunk in and gives what can be shown by now.
    pub fn feed<'c>(&mut self, chunk: &'c [u8]) -> Cow<'c, [u8]> {
        let Some(patterns) = self.mask.0.clone() else {
            return Cow::Borrowed(chunk);
        };
        let nothing_open = patterns.open_end(chunk) == chunk.len();
        if self.held.is_empty() && nothing_open && patterns.find(chunk).is_empty() {
            return Cow::Borrowed(chunk);
        }
        self.held.extend_from_slice(chunk);
        let end = patterns.open_end(&self.held);
        Cow::Owned(self.show(&patterns, end))
    }

    /// Gives what was held back; nothing more will come.
    pub fn finish(&mut self) -> Vec<u8> {
        match self.mask.0.clone() {
            Some(patterns) => self.show(&patterns, self.held.len()),
            None => Vec::new(),
        }
    }

    /// Shows what is held up to `end`; no secret that begins before it is incomplete.
    fn show(&mut self, patterns: &Patterns, end: usize) -> Vec<u8> {
        let mut shown = Vec::with_capacity(end);
        let mut done = self.hidden;
        for secret in patterns.find(&self.held) {
            if secret.start >= end {
                break;
            }
            if secret.start >= done {
                shown.extend_from_slice(self.held.get(done..secret.start).unwrap_or(&[]));
                shown.extend_from_slice(STARS.as_bytes());
            }
            done = done.max(secret.end);
        }
        shown.extend_from_slice(self.held.get(done..end).unwrap_or(&[]));
        self.hidden = done.saturating_sub(end);
        self.held.drain(..end);
        shown
    }
}
