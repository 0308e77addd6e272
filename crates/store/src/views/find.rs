//! The search for a run by the text naming it.

use crate::{db::reader::StoreReader, error::StoreError, log::state_event::RunSummary};
use wf_base::name::{AmbiguousRunError, RunId};

/// An error in finding a run by the text naming it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// No run's id begins with the prefix.
    #[error("run not found: `{prefix}`")]
    Unknown {
        prefix: String,
        /// The latest runs, as suggestions.
        latest: Vec<RunId>,
    },
    /// The run was pruned.
    #[error("run {} was pruned: {} {} on {}; only its summary is kept", run.short(), summary.plan, summary.outcome.as_str(), summary.ended.to_second())]
    Pruned {
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

/// The number of runs listed when a run is not found, or is ambiguous.
const CANDIDATES: i64 = 10;

impl StoreReader {
    /// Returns the run whose id begins with a prefix; nested runs too.
    pub fn find_run(&self, prefix: &str) -> Result<RunId, FindError> {
        let unknown = |latest| FindError::Unknown { prefix: prefix.into(), latest };
        let hex = prefix.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let mut found = Vec::new();
        if hex && !prefix.is_empty() {
            // "g" sorts after every hexadecimal digit.
            found = self.ids(
                "SELECT id FROM runs WHERE id >= ?1 AND id < ?1 || 'g' LIMIT ?2",
                (prefix, CANDIDATES),
            )?;
        }
        match found.len() {
            0 => Err(match self.find_pruned(prefix)? {
                Some((run, summary)) => FindError::Pruned { run, summary: Box::new(summary) },
                None => unknown(self.latest()?),
            }),
            1 => Ok(found.remove(0)),
            _ => Err(FindError::Ambiguous(AmbiguousRunError { prefix: prefix.into(), among: found })),
        }
    }

    /// Returns the latest run not nested.
    pub fn last_run(&self) -> Result<RunId, FindError> {
        self.latest()?.into_iter().next().ok_or(FindError::NoRuns)
    }

    fn latest(&self) -> Result<Vec<RunId>, StoreError> {
        self.ids("SELECT id FROM runs WHERE parent IS NULL ORDER BY key DESC LIMIT ?1", [CANDIDATES])
    }
}
