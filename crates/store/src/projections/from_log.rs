//! Readers of the log, and the comparison of what the tables hold about one run with it.

use std::path::Path;

use rusqlite::{Connection, Params, Row};

use crate::{
    column::RowColumns,
    db::reader::StoreReader,
    error::{QueryError, QueryResult, StoreError},
    events::verification::verify_chain,
    log::chain::ChainFault,
    projections::{
        difference,
        fold::{ShadowProjections, tree},
        project::ProjectionChange,
        row_log,
    },
};
use wf_base::{digest::Sha256Digest, name::RunId};
use wf_core::machine::{Event, EventKind, RunApproval, tree_text};

impl StoreReader {
    /// Opens the state folder for a decision: everything read about runs is built from the log,
    /// event by event, each compared with its hash. The tables beside the log are not used.
    pub fn from_log(dir: &Path) -> Result<Self, StoreError> {
        let mut reader = Self::open(dir)?;
        let fold = reader.query(ShadowProjections::new)?;
        reader.projections = Some(fold);
        reader.folded(ShadowProjections::heads)?;
        Ok(reader)
    }

    /// Does the same, after comparing the whole log with its hashes.
    pub fn from_whole_log(dir: &Path) -> Result<Self, StoreError> {
        let reader = Self::open(dir)?;
        if let Err(broken) = verify_chain(&reader)? {
            return Err(reader.failed(broken));
        }
        drop(reader);
        Self::from_log(dir)
    }

    /// Opens the state folder for what is shown of a run: as [`Self::open`] does if the tables hold what the log yields
    /// about it, else as [`Self::from_log`]. Tables of runs with more than `max_events` events are not compared.
    pub fn of_run(dir: &Path, run: &RunId, max_events: u64) -> Result<Self, StoreError> {
        let reader = Self::open(dir)?;
        if reader.query(|_| reader.differs_from_log(run, max_events))? {
            Self::from_log(dir)
        } else {
            Self::open(dir)
        }
    }

    /// True if everything this reader returns about runs is built from the log.
    pub fn is_from_log(&self) -> bool {
        self.projections.is_some()
    }

    /// Compares the tables with the log, for a run and those the tables know as nested in it. This connection finds the
    /// rows by the log from then on.
    fn differs_from_log(&self, run: &RunId, max_events: u64) -> QueryResult<bool> {
        let connection = self.connection();
        let snapshot = connection.unchecked_transaction()?;
        let keys = tree(connection, run)?;
        if !connection.prepare_cached("SELECT 1 FROM runs WHERE id = ?1")?.exists([run.as_str()])? {
            return Ok(true);
        }
        if event_count(connection, &keys)? > max_events {
            return Ok(false);
        }
        let fold = ShadowProjections::new(connection)?;
        let mut found = Vec::new();
        for key in keys {
            match fold.key(connection, key) {
                // Retention removed the run: the log yields no rows any more.
                Err(QueryError::Broken(broken)) if broken.fault == ChainFault::Bodiless => return Ok(false),
                folded => folded?,
            }
            difference::of_run(connection, key, &mut found)?;
        }
        drop(snapshot);
        Ok(!found.is_empty())
    }

    /// Ensures that the projections of this reader have all the log holds about a run.
    pub(crate) fn fold(&self, run: &RunId) -> Result<(), StoreError> {
        self.folded(|fold, connection| fold.run(connection, run))
    }

    /// Does the same for the first events: the list of runs, and the changes to the whole state.
    pub(crate) fn fold_heads(&self) -> Result<(), StoreError> {
        self.folded(ShadowProjections::heads)
    }

    /// Does the same for all runs.
    pub(crate) fn fold_all(&self) -> Result<(), StoreError> {
        self.folded(ShadowProjections::all)
    }

    /// Ensures the recorded tables, as this reader sees them, are those the log yields.
    pub(crate) fn fold_rows(&self) -> Result<(), StoreError> {
        self.query(row_log::fold)
    }

    /// Reads rows of the recorded tables, as the log yields them.
    pub(crate) fn folded_rows<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.fold_rows()?;
        self.all(sql, values, read)
    }

    pub(crate) fn folded_first<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        self.fold_rows()?;
        self.query_one(sql, values, read)
    }

    /// Ensures that the projections of this reader have all the log holds about the runs a query over the
    /// recorded tables yields.
    pub(crate) fn fold_runs(&self, sql: &str, values: impl Params) -> Result<(), StoreError> {
        self.fold_heads()?;
        let runs = self.folded_rows(sql, values, |row| row.run(0))?;
        runs.iter().try_for_each(|run| self.fold(run))
    }

    fn folded(
        &self,
        take: impl FnOnce(&ShadowProjections, &Connection) -> QueryResult<()>,
    ) -> Result<(), StoreError> {
        let Some(fold) = &self.projections else {
            return Ok(());
        };
        self.query(|connection| take(fold, connection))
    }

    /// Restores the lists of events that are stored apart. A missing list, or one that does not match its
    /// digest in the log, is an error.
    pub(crate) fn restore_trees<'a>(
        &self,
        events: impl IntoIterator<Item = &'a mut Event>,
    ) -> Result<(), StoreError> {
        for event in events {
            if let EventKind::RunApproved(approved) = &mut event.fact
                && let Some(tree) = approved.tree
            {
                let list = self.sources().text(&tree)?;
                let pins = list.and_then(|list| serde_json::from_str(&list).ok());
                approved.pinned_files = pins.ok_or_else(|| StoreError::Tampered {
                    path: self.folder().database(),
                    what: format!("tree {tree}, which a run was approved with, is missing or was modified"),
                })?;
            }
        }
        Ok(())
    }
}

/// Returns the number of events of some runs, by their keys.
fn event_count(connection: &Connection, keys: &[i64]) -> rusqlite::Result<u64> {
    let mut last = connection.prepare_cached("SELECT max(run_seq) FROM events WHERE run = ?1")?;
    let mut count = 0_u64;
    for key in keys {
        let number: Option<i64> = last.query_row([key], |row| row.get(0))?;
        count = count.saturating_add(number.unwrap_or_default().unsigned_abs());
    }
    Ok(count)
}

/// The position of a tree among the texts of its run: before all others.
const POSITION: i64 = -1;

/// Returns an event as the log holds it, and the list stored apart; `None`: it has none.
pub(crate) fn split_tree(event: &Event) -> Option<(Event, Sha256Digest, String)> {
    let EventKind::RunApproved(approved) = &event.fact else {
        return None;
    };
    let list = tree_text(&approved.pinned_files)?;
    let digest = Sha256Digest::of_bytes(list.as_bytes());
    let approved = RunApproval { pinned_files: Vec::new(), tree: Some(digest), ..(**approved).clone() };
    let fact = EventKind::RunApproved(Box::new(approved));
    Some((Event { fact, ..event.clone() }, digest, list))
}

impl ProjectionChange<'_> {
    /// Records that the run has the list among its texts.
    pub(super) fn record_tree(&self, tree: Sha256Digest) -> rusqlite::Result<()> {
        self.execute(
            "INSERT INTO run_sources (run, position, path, text) VALUES (?1, ?2, 'approved tree', ?3)",
            (self.run, POSITION, tree.bytes()),
        )
    }
}
