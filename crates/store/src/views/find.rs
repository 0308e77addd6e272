use crate::error::StoreError;
use crate::log::state_event::RunSummary;
use wf_base::name::{AmbiguousRunError, RunId};

/// An error in finding a run by the text that names it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// No run's id begins with the prefix.
    #[error("run not found: `{prefix}`")]
    Unknown {
        /// The prefix.
        prefix: String,
        /// The latest runs, as suggestions.
        latest: Vec<RunId>,
    },
    /// The run was pruned.
    #[error("run {} was pruned: {} {} on {}; only its summary is kept", run.short(), summary.plan, summary.outcome.as_str(), summary.ended.to_second())]
    Pruned {
        /// Its id.
        run: RunId,
        /// The rest of it.
        summary: Box<RunSummary>,
    },
    /// No run was started yet.
    #[error("no runs yet")]
    NoRuns,
    /// The ids of several runs begin with the prefix.
    #[error(transparent)]
    Ambiguous(#[from] AmbiguousRunError),
    /// The state cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}
