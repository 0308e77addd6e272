//! The logs of one run: each in files of its own while the run goes on, all in one archive when it has ended.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use wf_base::{digest::Sha256Digest, untrusted::UntrustedText};
use wf_core::machine::{Attempt, LogDigest};

use super::{
    LogBytes, LogChunks, LogFollower, archive::LogArchive, cursor::LogCursor, file::LogFile, reader, target,
};

/// The logs of one run: each in files of its own while the run goes on, all in one archive when it has ended.
#[derive(Debug)]
pub struct RunLogs {
    folder: PathBuf,
    archive: OnceLock<LogArchive>,
}

impl RunLogs {
    pub fn new(folder: PathBuf) -> Arc<Self> {
        Arc::new(Self { folder, archive: OnceLock::new() })
    }

    /// Returns the parts of a log in order; none if there is no log. Memory is bounded. A log in progress, or
    /// with a dead writer, is read as far as it goes.
    pub fn read_chunks(&self, attempt: &Attempt) -> io::Result<LogChunks> {
        reader::read_chunks(self, &self.path(attempt))
    }

    /// Opens a log to be read from any place; an empty one if there is none.
    pub fn bytes(&self, attempt: &Attempt) -> io::Result<LogBytes> {
        LogBytes::open(self, &self.path(attempt))
    }

    /// Returns the last lines of a log, from its last 64 KiB, as text safe to print, without a final newline.
    /// Empty if there is no log.
    pub fn tail(&self, attempt: &Attempt, lines: usize) -> io::Result<String> {
        tail(self, &self.path(attempt), lines)
    }

    /// Returns the length of a log, without the end of a long one in progress; 0 if there is none.
    pub fn length(&self, attempt: &Attempt) -> io::Result<u64> {
        self.cursor(&self.path(attempt))?.map_or(Ok(0), |cursor| cursor.length())
    }

    /// Digests a log; `None` if there is none.
    pub fn digest(&self, attempt: &Attempt) -> io::Result<Option<LogDigest>> {
        let mut size = 0;
        let chunks = self.read_chunks(attempt)?.map(|chunk| {
            let bytes = chunk?.bytes;
            size += bytes.len() as u64;
            Ok(bytes)
        });
        let digest = Sha256Digest::of_chunks(chunks)?;
        Ok((size > 0).then_some(LogDigest { size, digest }))
    }

    /// Follows a log from its beginning. It may not exist yet.
    pub fn follow(self: &Arc<Self>, attempt: &Attempt) -> LogFollower {
        LogFollower::new(Arc::clone(self), self.path(attempt))
    }

    /// Returns the path of a log while the run goes on.
    pub fn path(&self, attempt: &Attempt) -> PathBuf {
        target::path(&self.folder, attempt)
    }

    /// Opens a log at its start; `None` if there is none.
    pub(super) fn cursor(&self, path: &Path) -> io::Result<Option<LogCursor>> {
        let (log, index) = (LogFile::open(path)?, LogFile::open(&target::index(path))?);
        if let (None, _) | (_, None) = (&log, &index)
            && !target::is_end(path)
            && let Some(archive) = self.archive()?
            && let Some(log) = archive.member(path)
        {
            return LogCursor::new(log, archive.member(&target::index(path))).map(Some);
        }
        log.map(|log| LogCursor::new(log, index)).transpose()
    }

    fn archive(&self) -> io::Result<Option<&LogArchive>> {
        if self.archive.get().is_none()
            && let Some(archive) = LogArchive::open(&self.folder)?
        {
            return Ok(Some(self.archive.get_or_init(|| archive)));
        }
        Ok(self.archive.get())
    }
}

/// The maximum number of bytes read for a tail.
const MAX_TAIL_BYTES: u64 = 64 * 1024;

/// Returns the last lines of a log.
pub(super) fn tail(logs: &RunLogs, path: &Path, lines: usize) -> io::Result<String> {
    let [_, newer] = target::end_paths(path);
    let mut bytes = Vec::new();
    for part in [newer.as_path(), path] {
        if let (true, Some(cursor)) = (bytes.is_empty(), logs.cursor(part)?) {
            bytes = cursor.last_bytes(MAX_TAIL_BYTES)?;
        }
    }
    let text = UntrustedText::printed(&bytes).block();
    let text = text.trim_end();
    let first = text.rmatch_indices('\n').nth(lines.saturating_sub(1)).map_or(0, |(at, _)| at + 1);
    Ok(text.get(first..).unwrap_or_default().to_owned())
}
