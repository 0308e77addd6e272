use std::{collections::VecDeque, io, path::Path};

use wf_base::time::Moment;

use super::{RunLogs, cursor::LogCursor, target, writer};
use crate::processes::tails::LogStream;

/// Returns the parts of a log in order.
pub(super) fn read_chunks(logs: &RunLogs, path: &Path) -> io::Result<LogChunks> {
    let [older, newer] = target::end_paths(path);
    let older = logs.cursor(&older)?;
    let skips = older.is_some();
    let pieces = [logs.cursor(path)?, older, logs.cursor(&newer)?];
    Ok(LogChunks { pieces: pieces.into_iter().flatten().collect(), skips, at: Moment::from_millis(0) })
}

/// The parts of a log.
#[derive(Debug)]
pub struct LogChunks {
    pieces: VecDeque<LogCursor>,
    /// True if bytes may be missing behind the part that is read.
    skips: bool,
    at: Moment,
}

impl LogChunks {
    fn advance(&mut self) -> io::Result<Option<LogChunk>> {
        while let Some(piece) = self.pieces.front_mut() {
            if let Some(chunk) = piece.any()? {
                self.at = chunk.at;
                return Ok(Some(chunk));
            }
            self.pieces.pop_front();
            if std::mem::take(&mut self.skips) && !self.pieces.is_empty() {
                return Ok(Some(LogChunk::omission(self.at)));
            }
        }
        Ok(None)
    }
}

impl Iterator for LogChunks {
    type Item = io::Result<LogChunk>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance();
        if next.is_err() {
            self.pieces.clear();
        }
        next.transpose()
    }
}

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
    /// Returns the note about the omitted middle of a log.
    pub(super) fn omission(at: Moment) -> Self {
        let bytes = writer::omission_note("the middle").into_bytes();
        Self { stream: LogStream::Note, at, bytes }
    }
}
