use std::path::Path;

use rusqlite::Connection;

use super::fold::{Fold, Folded};
use super::{Reader, Store, StoreError, verify_chain};
use crate::name::RunId;

impl Store {
    /// Opens another connection that reads what the log says: see [`Reader::from_log`].
    pub fn log_reader(&self) -> Result<Reader, StoreError> {
        Reader::from_log(self.folder().path())
    }
}

impl Reader {
    /// Opens the state folder for a decision: what is read of runs is made from the log, event by
    /// event, each compared with its hash. The tables beside the log are not asked.
    pub fn from_log(dir: &Path) -> Result<Self, StoreError> {
        let mut reader = Self::open(dir)?;
        let fold = Fold::new(reader.connection()).map_err(|error| reader.failed(&error))?;
        reader.fold = Some(fold);
        reader.folded(Fold::heads)?;
        Ok(reader)
    }

    /// The same, once the whole log was compared with its hashes.
    pub fn from_whole_log(dir: &Path) -> Result<Self, StoreError> {
        let reader = Self::open(dir)?;
        let path = reader.folder().database();
        if let Err(broken) = verify_chain(&reader)? {
            return Err(StoreError::Broken { path, broken });
        }
        drop(reader);
        Self::from_log(dir)
    }

    /// Makes sure that what the log tells of a run is in the projections that this reader reads.
    pub(super) fn fold(&self, run: &RunId) -> Result<(), StoreError> {
        self.folded(|fold, connection| fold.run(connection, run))
    }

    /// The same of what the first events tell: which runs there are, and what was done to the state.
    pub(super) fn fold_heads(&self) -> Result<(), StoreError> {
        self.folded(Fold::heads)
    }

    /// The same of all runs.
    pub(super) fn fold_all(&self) -> Result<(), StoreError> {
        self.folded(Fold::all)
    }

    fn folded(
        &self,
        take: impl FnOnce(&Fold, &Connection) -> Folded<()>,
    ) -> Result<(), StoreError> {
        let Some(fold) = &self.fold else {
            return Ok(());
        };
        let taken = take(fold, self.connection()).map_err(|error| self.failed(&error))?;
        taken.map_err(|broken| StoreError::Broken {
            path: self.folder().database(),
            broken,
        })
    }
}
