//! A follower of a growing log: it goes on in its later files, and ends in the archive.

use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use wf_base::time::Moment;

use super::{LogChunk, LogStream, RunLogs, cursor::LogCursor, target};

/// The maximum number of parts that one call returns.
const MAX_CHUNKS: usize = 64;

/// The range at the end of a complete log where the last seen bytes are searched, in bytes.
const SEARCH_RANGE_BYTES: u64 = 1024 * 1024;

/// Reads a log while it is being written.
#[derive(Debug)]
pub struct LogFollower {
    logs: Arc<RunLogs>,
    path: PathBuf,
    position: FollowerPosition,
    /// The time of the last part read.
    at: Moment,
}

/// The position of a follower.
#[derive(Debug)]
enum FollowerPosition {
    /// Before the log, which may not exist yet.
    Nowhere,
    /// In the first part, which becomes the complete log in the end.
    Head {
        cursor: LogCursor,
        /// True if the end was already appended to it, as far as can be seen.
        whole: bool,
    },
    /// In the last part of a log whose first part is full. The file stays open when it is rotated
    /// or removed.
    End(LogCursor),
    /// Behind the seen part of a log that is now complete.
    Rest(VecDeque<LogChunk>),
}

impl LogFollower {
    /// Starts at the beginning of a log, which may not exist yet.
    pub(super) fn new(logs: Arc<RunLogs>, path: PathBuf) -> Self {
        Self { logs, path, position: FollowerPosition::Nowhere, at: Moment::from_millis(0) }
    }

    /// Returns the next part of an ended log; `None` behind its end. Bytes without an index, left by a killed engine, are
    /// a part, too.
    pub fn next_of_ended(&mut self) -> io::Result<Option<LogChunk>> {
        if let Some(chunk) = self.next_chunk()? {
            return Ok(Some(chunk));
        }
        match &mut self.position {
            FollowerPosition::Head { cursor, .. } | FollowerPosition::End(cursor) => cursor.any(),
            FollowerPosition::Nowhere | FollowerPosition::Rest(_) => Ok(None),
        }
    }

    /// Returns the parts since the last call, up to a memory limit; empty if there are none.
    pub fn next_chunks(&mut self) -> io::Result<Vec<LogChunk>> {
        let mut came = Vec::new();
        while came.len() < MAX_CHUNKS {
            let Some(chunk) = self.next_chunk()? else {
                break;
            };
            came.push(chunk);
        }
        Ok(came)
    }

    /// Returns the next part; `None` if it has not come yet.
    pub fn next_chunk(&mut self) -> io::Result<Option<LogChunk>> {
        let chunk = self.next()?;
        self.at = chunk.as_ref().map_or(self.at, |chunk| chunk.at);
        Ok(chunk)
    }

    /// True if the last part was behind the first half of a log of which only both ends are kept: its position in the
    /// complete log is unknown yet.
    pub fn is_behind_head(&self) -> bool {
        matches!(self.position, FollowerPosition::End(_) | FollowerPosition::Rest(_))
    }

    fn next(&mut self) -> io::Result<Option<LogChunk>> {
        match &mut self.position {
            FollowerPosition::Nowhere => {
                let Some(cursor) = self.logs.cursor(&self.path)? else {
                    return Ok(None);
                };
                let whole = false;
                self.position = FollowerPosition::Head { cursor, whole };
                self.next()
            }
            FollowerPosition::Head { cursor, whole } => {
                if let Some(chunk) = cursor.next_indexed()? {
                    *whole |= chunk.stream == LogStream::Note;
                    return Ok(Some(chunk));
                }
                // The end is opened before the head is read again: bytes appended to the head are
                // then there or in the opened end.
                let [older, newer] = target::end_paths(&self.path).map(|path| self.logs.cursor(&path));
                if let Some(chunk) = cursor.next_indexed()? {
                    *whole |= chunk.stream == LogStream::Note;
                    return Ok(Some(chunk));
                }
                match newer? {
                    Some(newer) if !*whole => self.enter(older?, newer),
                    _ => Ok(None),
                }
            }
            FollowerPosition::End(cursor) => {
                if let Some(chunk) = cursor.next_indexed()? {
                    return Ok(Some(chunk));
                }
                let [older, newer] = target::end_paths(&self.path).map(|path| self.logs.cursor(&path));
                let (older, newer) = (older?, newer?);
                if newer.as_ref().is_some_and(|newer| newer.is_same(cursor)) {
                    return Ok(None);
                }
                // The part is complete.
                if let Some(chunk) = cursor.any()? {
                    return Ok(Some(chunk));
                }
                let Some(newer) = newer else {
                    let rest = remaining_chunks(&self.logs, &self.path, cursor)?;
                    self.position = FollowerPosition::Rest(rest);
                    return self.next();
                };
                let older = older.filter(|older| !older.is_same(cursor));
                self.enter(older, newer)
            }
            FollowerPosition::Rest(rest) => Ok(rest.pop_front()),
        }
    }

    /// Continues in the end of the log; if its older half exists, notes that the middle is left out.
    fn enter(&mut self, older: Option<LogCursor>, newer: LogCursor) -> io::Result<Option<LogChunk>> {
        let older = older.filter(|older| !older.is_same(&newer));
        let skipped = older.is_some();
        self.position = FollowerPosition::End(older.unwrap_or(newer));
        if skipped {
            return Ok(Some(LogChunk::omission(self.at)));
        }
        self.next()
    }
}

/// Returns the parts of a complete log behind a part read to its end: usually none.
fn remaining_chunks(logs: &RunLogs, path: &Path, cursor: &LogCursor) -> io::Result<VecDeque<LogChunk>> {
    let Some(mut whole) = logs.cursor(path)? else {
        return Ok(VecDeque::new());
    };
    let (length, last) = (whole.length()?, cursor.last_bytes(4096)?);
    let tail = whole.last_bytes(SEARCH_RANGE_BYTES.min(length))?;
    let position = memchr::memmem::rfind(&tail, &last).map(|at| at + last.len());
    let unseen = tail.len() - position.unwrap_or(0);
    let mut rest = VecDeque::new();
    while let Some(mut chunk) = whole.any()? {
        let behind = whole.position().saturating_sub(length - unseen as u64);
        let new = usize::try_from(behind).unwrap_or(usize::MAX).min(chunk.bytes.len());
        chunk.bytes.drain(..chunk.bytes.len() - new);
        rest.extend(Some(chunk).filter(|chunk| !chunk.bytes.is_empty()));
    }
    Ok(rest)
}
