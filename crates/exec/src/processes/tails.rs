//! The ends of output kept in memory: the head of a stream, and its tail.

use serde::{Deserialize, Serialize};

use wf_core::verify::END;

use super::supervise::OutputSink;

/// The source of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStream {
    /// Standard output, or the body of a response.
    Out,
    /// Standard error.
    Err,
    /// A note of the engine: about omitted output, or a kill.
    Note,
}

/// The tail of a process's output: at most [`END`] bytes of each stream, and more of a tool's. Invalid UTF-8 is
/// replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTails {
    /// The tail of standard output.
    pub out: String,
    /// The tail of standard error.
    pub err: String,
}

impl StreamTails {
    /// True if nothing was printed, or nothing was kept.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty() && self.err.is_empty()
    }
}

/// Collects the tails of both streams in at most twice the memory needed.
#[derive(Debug)]
pub(crate) struct TailCollector {
    out: Vec<u8>,
    err: Vec<u8>,
    /// The number of bytes of each tail.
    limit: usize,
}

impl Default for TailCollector {
    fn default() -> Self {
        Self::new(END)
    }
}

impl TailCollector {
    pub(super) fn new(limit: usize) -> Self {
        Self { out: Vec::new(), err: Vec::new(), limit }
    }

    pub(crate) fn add_bytes(&mut self, stream: LogStream, bytes: &[u8]) {
        let tail = match stream {
            LogStream::Out => &mut self.out,
            LogStream::Err => &mut self.err,
            LogStream::Note => return,
        };
        if tail.len() + bytes.len() > 2 * self.limit {
            tail.drain(..tail.len().saturating_sub(self.limit));
        }
        tail.extend_from_slice(last(bytes, self.limit));
    }

    pub(crate) fn ends(&self) -> StreamTails {
        let text = |bytes| String::from_utf8_lossy(last(bytes, self.limit)).into_owned();
        StreamTails { out: text(&self.out), err: text(&self.err) }
    }
}

fn last(bytes: &[u8], limit: usize) -> &[u8] {
    bytes.get(bytes.len().saturating_sub(limit)..).unwrap_or(bytes)
}

/// Keeps the beginning and the very end of a process's output in memory.
#[derive(Debug)]
pub(super) struct OutputHead {
    pub(super) out: Vec<u8>,
    pub(super) err: Vec<u8>,
    /// True if standard output was cut off.
    pub(super) truncated: bool,
    /// The number of bytes of standard output.
    pub(super) printed: u64,
    pub(super) tail: TailCollector,
    limit: usize,
}

impl OutputHead {
    /// Keeps this many bytes of the beginning of each stream.
    pub(super) fn new(limit: usize) -> Self {
        let last = TailCollector::default();
        Self { out: Vec::new(), err: Vec::new(), truncated: false, printed: 0, tail: last, limit }
    }

    /// Keeps as many bytes of the very end, too.
    pub(super) fn with_end(limit: usize) -> Self {
        Self { tail: TailCollector::new(limit), ..Self::new(limit) }
    }
}

impl OutputSink for OutputHead {
    fn on_bytes(&mut self, stream: LogStream, bytes: &[u8]) {
        self.tail.add_bytes(stream, bytes);
        let head = match stream {
            LogStream::Out => &mut self.out,
            LogStream::Err => &mut self.err,
            LogStream::Note => return,
        };
        let room = self.limit.saturating_sub(head.len()).min(bytes.len());
        head.extend(bytes.iter().take(room));
        if stream == LogStream::Out {
            self.truncated |= room < bytes.len();
            self.printed += bytes.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{END, LogStream, TailCollector};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_last_is_kept_however_it_comes(sizes in prop::collection::vec(0..3 * END, 0..8)) {
            let mut last = TailCollector::default();
            let mut all = String::new();
            for (at, size) in sizes.into_iter().enumerate() {
                let part: String = ('a'..='z').cycle().skip(at).take(size).collect();
                last.add_bytes(LogStream::Err, part.as_bytes());
                last.add_bytes(LogStream::Note, b"left out");
                prop_assert!(last.err.len() <= 2 * END);
                all.push_str(&part);
            }
            let ends = last.ends();
            prop_assert_eq!(&ends.err, &all[all.len().saturating_sub(END)..]);
            prop_assert_eq!(ends.out, "");
        }
    }
}
