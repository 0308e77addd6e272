use super::StoreError;
use crate::name::{AmbiguousRun, RunId};

/// Why a text names no run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// No run's id begins so.
    #[error("no run is called `{prefix}`")]
    Unknown {
        /// What was asked for.
        prefix: String,
        /// The latest runs, which may have been meant.
        latest: Vec<RunId>,
    },
    /// Nothing was run yet.
    #[error("there is no run yet")]
    NoRuns,
    /// Several runs' ids begin so.
    #[error(transparent)]
    Ambiguous(#[from] AmbiguousRun),
    /// The state cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}
