use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::machine::Attempt;
use crate::mask::Mask;
use crate::time::Clock;

/// Where output is kept.
#[derive(Clone)]
pub struct Target {
    /// The file; made when there is something to keep. Its folder exists.
    pub path: PathBuf,
    /// How much is kept: of more, the first and the last half.
    pub limit: u64,
    /// What must not be kept.
    pub mask: Mask,
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

/// The file of an attempt's log in a run's folder: `build.1.log`, or `build.0.1.log` for the
/// first item of a repeated step.
pub fn path(dir: &Path, attempt: &Attempt) -> PathBuf {
    let step = &attempt.place.step;
    dir.join(match attempt.place.item {
        Some(item) => format!("{step}.{item}.{}.log", attempt.attempt),
        None => format!("{step}.{}.log", attempt.attempt),
    })
}

/// The index beside a log.
pub(super) fn index(log: &Path) -> PathBuf {
    log.with_extension("idx")
}

/// Where the last part of a long log is kept until it ends, the older half first.
pub(super) fn ends(log: &Path) -> [PathBuf; 2] {
    [
        log.with_extension("older.log"),
        log.with_extension("newer.log"),
    ]
}
