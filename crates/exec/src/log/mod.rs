//! The output of attempts on disk: a plain file of the bytes in the order of their arrival, and
//! beside it an index of their streams and times.
//!
//! A silent attempt has no files. Beyond the size limit, the first and the last half are kept, with
//! a note between them. Lines of the two streams are not torn apart. When the run has ended, its
//! logs move into one archive.
//!
//! **Invariant:** memory and disk are bounded for any output. **Invariant:** secrets are masked
//! before the first byte reaches the disk or an observer.

mod archive;
mod cursor;
mod file;
mod follower;
mod lines;
mod random;
mod reader;
mod record;
mod run_logs;
mod runtime_masks;
mod segment;
mod target;
#[cfg(test)]
mod tests;
mod writer;

pub use crate::processes::tails::LogStream;
pub use archive::archive;
pub use follower::LogFollower;
pub use random::{LogArrival, LogBytes, LogExtent};
pub use reader::{LogChunk, LogChunks};
pub use run_logs::RunLogs;
pub use target::{LogTarget, files, path};
pub use writer::{LogSummary, LogWriter};
