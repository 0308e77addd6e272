//! A log read from any place, for readers who know where a line begins.

use std::{io, path::Path};

use super::{LogChunk, RunLogs, cursor::LogCursor, target};
use crate::disk::files::FileIdentity;
use wf_base::time::Moment;

/// The bytes of a log: those of its files one after another, with a note where the middle is left out.
#[derive(Debug)]
pub struct LogBytes {
    pieces: Vec<LogPiece>,
    length: u64,
}

/// A part of the bytes of a log with one time of arrival, to within some hundredths of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogArrival {
    /// The offset of its first byte.
    pub offset: u64,
    /// The number of its bytes.
    pub length: u64,
    pub at: Moment,
}

/// A part of the bytes of a log.
#[derive(Debug)]
struct LogPiece {
    source: PieceSource,
    start: u64,
    length: u64,
}

/// The place where a part of a log is read.
#[derive(Debug)]
enum PieceSource {
    File(LogCursor),
    Note(Vec<u8>),
}

/// The files of a log and their lengths when it was opened, by which a reader sees whether it has only grown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogExtent(Vec<(Option<(FileIdentity, u64)>, u64)>);

impl LogExtent {
    /// True if a log opened later begins with the same bytes.
    pub fn is_beginning_of(&self, extent: &Self) -> bool {
        let Some((last, before)) = self.0.split_last() else {
            return true;
        };
        let is_same = extent.0.get(..before.len()).is_some_and(|pieces| pieces == before);
        is_same && extent.0.get(before.len()).is_some_and(|piece| piece.0 == last.0 && piece.1 >= last.1)
    }
}

impl LogBytes {
    /// Opens a log as far as it is there; one that does not exist is empty.
    pub(super) fn open(logs: &RunLogs, path: &Path) -> io::Result<Self> {
        let [older, newer] = target::end_paths(path);
        let mut bytes = Self { pieces: Vec::new(), length: 0 };
        bytes.push_file(logs.cursor(path)?)?;
        let older = logs.cursor(&older)?;
        if older.is_some() {
            let note = LogChunk::omission(Moment::from_millis(0)).bytes;
            bytes.push(note.len() as u64, PieceSource::Note(note));
        }
        bytes.push_file(older)?;
        bytes.push_file(logs.cursor(&newer)?)?;
        Ok(bytes)
    }

    fn push_file(&mut self, cursor: Option<LogCursor>) -> io::Result<()> {
        if let Some(cursor) = cursor {
            self.push(cursor.length()?, PieceSource::File(cursor));
        }
        Ok(())
    }

    fn push(&mut self, length: u64, source: PieceSource) {
        self.pieces.push(LogPiece { source, start: self.length, length });
        self.length += length;
    }

    /// Returns its length when it was opened.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns its files and their lengths.
    pub fn extent(&self) -> LogExtent {
        let identity = |source: &PieceSource| match source {
            PieceSource::File(cursor) => Some(cursor.identity()),
            PieceSource::Note(_) => None,
        };
        LogExtent(self.pieces.iter().map(|piece| (identity(&piece.source), piece.length)).collect())
    }

    /// Returns the arrivals of the bytes between two offsets, in their order. Bytes whose index is missing, or not written yet, have
    /// none.
    pub fn arrivals(&self, from: u64, until: u64) -> io::Result<Vec<LogArrival>> {
        let mut found = Vec::new();
        for piece in &self.pieces {
            let PieceSource::File(cursor) = &piece.source else { continue };
            if piece.start >= until || piece.start + piece.length <= from {
                continue;
            }
            cursor.arrivals(|LogArrival { offset, length, at }| {
                let offset = piece.start + offset;
                if offset < until && offset + length > from {
                    found.push(LogArrival { offset, length, at });
                }
                offset + length < until
            })?;
        }
        Ok(found)
    }

    /// Reads bytes from a position on, and returns how many; 0 behind its end.
    pub fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let within = |piece: &&LogPiece| (piece.start..piece.start + piece.length).contains(&position);
        let Some(piece) = self.pieces.iter().find(within) else {
            return Ok(0);
        };
        let from = position - piece.start;
        let most = usize::try_from(piece.length - from).unwrap_or(usize::MAX).min(buffer.len());
        let buffer = buffer.get_mut(..most).unwrap_or_default();
        match &piece.source {
            PieceSource::File(cursor) => cursor.read_at(buffer, from),
            PieceSource::Note(note) => {
                let from = usize::try_from(from).unwrap_or(usize::MAX);
                buffer.copy_from_slice(note.get(from..from + most).unwrap_or_default());
                Ok(most)
            }
        }
    }
}
