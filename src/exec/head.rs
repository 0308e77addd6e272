use super::ends::Last;
use super::log::Stream;
use super::supervise::Sink;

/// Keeps the beginning and the very end of what a process prints in memory.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) out: Vec<u8>,
    pub(super) err: Vec<u8>,
    /// Whether standard output went on.
    pub(super) truncated: bool,
    pub(super) last: Last,
    limit: usize,
}

impl Head {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            out: Vec::new(),
            err: Vec::new(),
            truncated: false,
            last: Last::default(),
            limit,
        }
    }
}

impl Sink for Head {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        self.last.take(stream, bytes);
        let kept = match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
            Stream::Note => return,
        };
        let room = self.limit.saturating_sub(kept.len()).min(bytes.len());
        kept.extend(bytes.iter().take(room));
        self.truncated |= stream == Stream::Out && room < bytes.len();
    }

    fn holds(&self) -> bool {
        false
    }

    fn quiet(&mut self) {}
}
