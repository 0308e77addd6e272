use std::path::Path;

use rusqlite::Connection;

use super::fold::{FoldResult, ShadowProjections};
use super::{Store, StoreError, StoreReader, row_log, verify_chain};
use wf_base::name::RunId;

impl Store {
    /// Opens another connection that reads from the log: see [`StoreReader::from_log`].
    pub fn log_reader(&self) -> Result<StoreReader, StoreError> {
        StoreReader::from_log(self.folder().path())
    }
}

impl StoreReader {
    /// Opens the state folder for a decision: everything read about runs is built from the log,
    /// event by event, each compared with its hash. The tables beside the log are not used.
    pub fn from_log(dir: &Path) -> Result<Self, StoreError> {
        let mut reader = Self::open(dir)?;
        let fold = ShadowProjections::new(reader.connection()).map_err(|error| reader.failed(&error))?;
        reader.fold = Some(fold);
        reader.folded(ShadowProjections::heads)?;
        Ok(reader)
    }

    /// Does the same, after comparing the whole log with its hashes.
    pub fn from_whole_log(dir: &Path) -> Result<Self, StoreError> {
        let reader = Self::open(dir)?;
        if let Err(broken) = verify_chain(&reader)? {
            return Err(reader.broken(broken));
        }
        drop(reader);
        Self::from_log(dir)
    }

    /// Ensures that the projections of this reader have all that the log holds about a run.
    pub(super) fn fold(&self, run: &RunId) -> Result<(), StoreError> {
        self.folded(|fold, connection| fold.run(connection, run))
    }

    /// Does the same for the first events: the list of runs, and the changes to the whole state.
    pub(super) fn fold_heads(&self) -> Result<(), StoreError> {
        self.folded(ShadowProjections::heads)
    }

    /// Does the same for all runs.
    pub(super) fn fold_all(&self) -> Result<(), StoreError> {
        self.folded(ShadowProjections::all)
    }

    /// Ensures that the recorded tables, as this reader sees them, are those that the log yields.
    pub(super) fn fold_rows(&self) -> Result<(), StoreError> {
        let folded = row_log::fold(self.connection()).map_err(|error| self.failed(&error))?;
        folded.map_err(|broken| self.broken(broken))
    }

    fn folded(
        &self,
        take: impl FnOnce(&ShadowProjections, &Connection) -> FoldResult<()>,
    ) -> Result<(), StoreError> {
        let Some(fold) = &self.fold else {
            return Ok(());
        };
        let taken = take(fold, self.connection()).map_err(|error| self.failed(&error))?;
        taken.map_err(|broken| self.broken(broken))
    }
}
