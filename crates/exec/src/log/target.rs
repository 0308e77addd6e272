use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use wf_base::{redact::SecretMask, time::Clock};
use wf_core::machine::Attempt;

use crate::step_files::correction;

/// The destination of output.
#[derive(Clone)]
pub struct LogTarget {
    /// The file, created when there is output. Its folder exists.
    pub path: PathBuf,
    /// The maximum size: beyond it, the first and the last half are kept.
    pub limit: u64,
    pub mask: SecretMask,
    /// The clock for timestamps.
    pub clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for LogTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Returns the log file of an attempt in a run's folder: `build.1.log`, or `build.0.1.log` for the
/// first item of a repeated step.
pub fn path(dir: &Path, attempt: &Attempt) -> PathBuf {
    let step = &attempt.task_id.step;
    dir.join(match attempt.task_id.item {
        Some(item) => format!("{step}.{item}.{}.log", attempt.attempt),
        None => format!("{step}.{}.log", attempt.attempt),
    })
}

/// Returns the files that an attempt which has ended left beside each other in a run's folder, if it left them: its log
/// with the index, and the feedback it got.
pub fn files(dir: &Path, attempt: &Attempt) -> [PathBuf; 3] {
    let log = path(dir, attempt);
    [index(&log), correction::path(&log), log]
}

/// Returns the index beside a log.
pub(super) fn index(log: &Path) -> PathBuf {
    log.with_extension("idx")
}

/// Returns the files for the last part of a long log until it ends, the older half first.
pub(super) fn end_paths(log: &Path) -> [PathBuf; 2] {
    [log.with_extension("older.log"), log.with_extension("newer.log")]
}

/// True for the last part of a long log.
pub(super) fn is_end(path: &Path) -> bool {
    let part = path.file_stem().map(Path::new).and_then(Path::extension);
    part.is_some_and(|part| part == "older" || part == "newer")
}
