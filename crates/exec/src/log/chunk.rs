use super::writer;
use wf_base::time::Moment;

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

/// A part of a log: bytes of one stream with one arrival time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogChunk {
    /// The stream.
    pub stream: LogStream,
    /// The arrival time of the first byte.
    pub at: Moment,
    /// The bytes, at most 64 KiB.
    pub bytes: Vec<u8>,
}

impl LogChunk {
    /// Returns the note that the middle of a log is left out.
    pub(super) fn omission(at: Moment) -> Self {
        let bytes = writer::omission_note("the middle").into_bytes();
        Self { stream: LogStream::Note, at, bytes }
    }
}
