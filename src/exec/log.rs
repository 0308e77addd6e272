//! What attempts print, on disk.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Mask;
use crate::machine::Attempt;
use crate::time::{Clock, Moment};

/// Where output came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output, or the body of an answer.
    Out,
    /// Standard error.
    Err,
    /// A line of the engine itself: that something was left out, or killed.
    Note,
}

/// Where output is kept.
#[derive(Clone)]
pub struct Target {
    /// The file; made when there is something to keep. Its folder exists.
    pub path: PathBuf,
    /// How much is kept: of more, the first and the last half.
    pub limit: u64,
    /// What must not be kept.
    pub mask: Arc<Mask>,
    /// For the times.
    pub clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// A part of a log: bytes of one stream that came at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Where it came from.
    pub stream: Stream,
    /// When.
    pub at: Moment,
    /// What.
    pub bytes: Vec<u8>,
}

/// The file of an attempt's log in a run's folder: `build.1.log`, `build.0.1.log` for an item.
pub fn path(_dir: &Path, _attempt: &Attempt) -> PathBuf {
    todo!()
}

/// The parts of a log in order; none if there is no log. Memory is bounded.
pub fn read(_path: &Path) -> io::Result<Chunks> {
    todo!()
}

/// The parts of a log.
pub struct Chunks {}

impl Iterator for Chunks {
    type Item = io::Result<Chunk>;

    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}

/// The last lines of a log, at most 64 KiB, as harmless text: no control characters.
pub fn tail(_path: &Path, _lines: usize) -> io::Result<String> {
    todo!()
}

/// Reads a log while it is written.
pub struct Follower {}

impl Follower {
    /// From the beginning of a log that need not exist yet.
    pub fn new(_path: PathBuf) -> Self {
        todo!()
    }

    /// What has come since the last call; empty if nothing.
    pub fn more(&mut self) -> io::Result<Vec<Chunk>> {
        todo!()
    }
}
