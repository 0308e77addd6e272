use super::writer;
use crate::processes::tails::LogStream;
use wf_base::time::Moment;

/// A part of a log: bytes of one stream with one arrival time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogChunk {
    pub stream: LogStream,
    /// The arrival time of the first byte.
    pub at: Moment,
    /// The bytes, at most 64 KiB.
    pub bytes: Vec<u8>,
}

impl LogChunk {
    /// Returns the note the middle of a log is left out.
    pub(super) fn omission(at: Moment) -> Self {
        let bytes = writer::omission_note("the middle").into_bytes();
        Self { stream: LogStream::Note, at, bytes }
    }
}
