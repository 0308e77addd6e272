use std::{collections::VecDeque, ops::Range};

use aho_corasick::automaton::StateID;

use super::patterns::SecretPatterns;

/// The least number of characters between two line ends in a form: encoders break at 64 or 76.
const APART: u64 = 32;

/// The length below which the text before a first line end is shown: holding it back would delay
/// the end of every line that happens to end like the prefix of a form.
const SHOWN: u64 = 8;

/// The longest line end.
const LINE_END: usize = 2;

/// A search for all forms through bytes that come in chunks. Always linear in the number of bytes.
#[derive(Debug)]
pub(super) struct SecretScan {
    raw: StateID,
    /// The state if line ends are skipped.
    broken: StateID,
    /// The number of bytes seen other than line ends, from some position on.
    seen: u64,
    /// The line ends inside a possible form: the number of bytes seen before each, and its length.
    line_ends: VecDeque<(u64, u64)>,
    /// The length of the line end the last byte belongs to.
    line_end: usize,
}

impl SecretScan {
    pub(super) fn new(patterns: &SecretPatterns) -> Self {
        Self {
            raw: patterns.start(),
            broken: patterns.start(),
            seen: 0,
            line_ends: VecDeque::new(),
            line_end: 0,
        }
    }

    /// Scans all bytes from a position on. At least the [`open`](Self::open) bytes must precede it.
    /// Matches are merged into `found`.
    pub(super) fn run(
        &mut self,
        patterns: &SecretPatterns,
        bytes: &[u8],
        from: usize,
        found: &mut Vec<Range<usize>>,
    ) {
        let (mut at, mut until) = (from, from);
        let width = patterns.width();
        loop {
            while at < until || self.is_deep(patterns) {
                let Some(byte) = bytes.get(at) else {
                    return;
                };
                at += 1;
                self.step(patterns, *byte, at, found);
            }
            // No form has begun that the filter would not find itself, or by its second part.
            let shallow = at - patterns.depth(self.raw).min(at);
            let (next, end) = match patterns.next(bytes, shallow) {
                Some(next) => (next.saturating_sub(width + LINE_END), next + width + LINE_END),
                None => (bytes.len().saturating_sub(2 * width + LINE_END), usize::MAX),
            };
            until = end;
            if next > at {
                *self = Self::new(patterns);
                at = next;
            }
        }
    }

    /// Returns the number of last bytes that cannot be shown yet.
    pub(super) fn open(&self, patterns: &SecretPatterns) -> usize {
        let depth = patterns.depth(self.broken);
        let across = self.length_across_lines(depth as u64).unwrap_or(0);
        patterns.depth(self.raw).max(across)
    }

    fn is_deep(&self, patterns: &SecretPatterns) -> bool {
        let deep = |state| patterns.depth(state) >= patterns.width();
        deep(self.raw) || deep(self.broken)
    }

    fn step(&mut self, patterns: &SecretPatterns, byte: u8, end: usize, found: &mut Vec<Range<usize>>) {
        self.raw = patterns.step(self.raw, byte);
        if let Some(length) = patterns.ends(self.raw).max() {
            merge(found, end.saturating_sub(length)..end);
        }
        if matches!(byte, b'\n' | b'\r') {
            self.end_line(patterns);
            return;
        }
        self.line_end = 0;
        self.seen += 1;
        self.broken = patterns.step(self.broken, byte);
        let begun = self.seen.saturating_sub(patterns.depth(self.broken) as u64);
        while self.line_ends.pop_front_if(|(before, _)| *before <= begun).is_some() {}
        if self.line_ends.is_empty() {
            return;
        }
        let ends = patterns.ends(self.broken);
        let across = ends.filter_map(|length| self.masked_length(length as u64)).max();
        if let Some(length) = across {
            merge(found, end.saturating_sub(length)..end);
        }
    }

    /// Skips a line end; after more than one no form continues.
    fn end_line(&mut self, patterns: &SecretPatterns) {
        self.line_end += 1;
        if self.line_end > LINE_END {
            self.broken = patterns.start();
            self.line_ends.clear();
        } else if patterns.depth(self.broken) > 0 {
            match self.line_ends.back_mut() {
                Some((before, length)) if *before == self.seen => *length += 1,
                _ => self.line_ends.push_back((self.seen, 1)),
            }
        }
    }

    /// Returns the number of last bytes to mask for a form of a length ending here, if its lines are long
    /// enough.
    fn masked_length(&self, length: u64) -> Option<usize> {
        if length < SHOWN {
            return None;
        }
        let first = self.seen.saturating_sub(length);
        let mut last = None;
        for (before, _) in self.line_ends.iter().filter(|(before, _)| *before > first) {
            if last.is_some_and(|last| before - last < APART) {
                return None;
            }
            last = Some(*before);
        }
        self.length_across_lines(length)
    }

    /// Returns the number of last bytes, line ends included, that contain `length` others; counted
    /// from the first line end if little precedes it. None if there is no line end among them.
    fn length_across_lines(&self, length: u64) -> Option<usize> {
        let first = self.seen.saturating_sub(length);
        let mut inside = self.line_ends.iter().filter(|(before, _)| *before > first);
        let (before, own) = inside.next()?;
        let later: u64 = inside.map(|(_, length)| length).sum();
        let all = if before - first < SHOWN { self.seen - before + later } else { length + own + later };
        usize::try_from(all).ok()
    }
}

/// Adds a part ending behind all others; parts overlapping are merged.
fn merge(parts: &mut Vec<Range<usize>>, mut part: Range<usize>) {
    while let Some(last) = parts.pop_if(|last| last.end > part.start) {
        part.start = part.start.min(last.start);
        part.end = part.end.max(last.end);
    }
    parts.push(part);
}
