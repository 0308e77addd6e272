use super::log::LogStream;
use super::supervise::OutputSink;
use super::tails::TailCollector;

/// Keeps the beginning and the very end of a process's output in memory.
#[derive(Debug)]
pub(super) struct OutputHead {
    pub(super) out: Vec<u8>,
    pub(super) err: Vec<u8>,
    /// True if standard output was cut off.
    pub(super) truncated: bool,
    pub(super) last: TailCollector,
    limit: usize,
}

impl OutputHead {
    pub(super) fn new(limit: usize) -> Self {
        Self { out: Vec::new(), err: Vec::new(), truncated: false, last: TailCollector::default(), limit }
    }
}

impl OutputSink for OutputHead {
    fn on_bytes(&mut self, stream: LogStream, bytes: &[u8]) {
        self.last.take(stream, bytes);
        let kept = match stream {
            LogStream::Out => &mut self.out,
            LogStream::Err => &mut self.err,
            LogStream::Note => return,
        };
        let room = self.limit.saturating_sub(kept.len()).min(bytes.len());
        kept.extend(bytes.iter().take(room));
        self.truncated |= stream == LogStream::Out && room < bytes.len();
    }
}
