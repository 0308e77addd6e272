use super::supervise::OutputSink;
use super::tails::{LogStream, TailCollector};

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
        self.tail.take(stream, bytes);
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
