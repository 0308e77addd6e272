use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Params, Row};

use crate::{
    db::connect,
    error::StoreError,
    files::folder::StateFolder,
    lease::{
        locks::{self, LockWait},
        permits::{self, PermitTask},
        run_lease::{self, RunLease},
    },
    log::tail::{LogPosition, LogTail},
    projections::fold::ShadowProjections,
};
use wf_base::name::RunId;
use wf_core::machine::LockHolder;

/// A connection only reads, while others write.
#[derive(Debug)]
pub struct StoreReader {
    connection: Connection,
    folder: StateFolder,
    pub(crate) projections: Option<ShadowProjections>,
}

impl StoreReader {
    /// Opens the state folder for reading. Fails with [`StoreError::NoState`] if there is none.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let folder = StateFolder::new(dir);
        Ok(Self { connection: connect::for_reading(&folder)?, folder, projections: None })
    }

    pub(super) fn open_on(folder: &StateFolder) -> Result<Self, StoreError> {
        Ok(Self { connection: connect::for_reading_on(folder)?, folder: folder.clone(), projections: None })
    }

    /// Opens a state whose schema this program does not know, to copy it.
    pub(crate) fn open_unchecked(dir: &Path) -> Result<Self, StoreError> {
        let folder = StateFolder::new(dir);
        Ok(Self { connection: connect::unchecked(&folder.database())?, folder, projections: None })
    }

    /// Returns all leases of a run, in order; the last one is current, or was the latest. A nested
    /// run has none of its own.
    pub fn owners(&self, run: &RunId) -> Result<Vec<RunLease>, StoreError> {
        let sql = format!("SELECT {} FROM run_leases WHERE run = ?1 ORDER BY token", run_lease::COLUMNS);
        self.all(&sql, [run.as_str()], run_lease::read)
    }

    /// True if a run that has not ended was given to a supervisor.
    pub fn needs_keeper(&self, keeper: &str) -> Result<bool, StoreError> {
        self.fold_all()?;
        let sql = "SELECT 1 FROM run_leases JOIN runs ON runs.id = run_leases.run
                   WHERE supervisor = ?1 AND ended IS NULL LIMIT 1";
        let found: Vec<i64> = self.all(sql, [keeper], |row| row.get(0))?;
        Ok(!found.is_empty())
    }

    /// Returns the runs owned, or may be, with their leases.
    pub fn owned_runs(&self) -> Result<Vec<(RunId, RunLease)>, StoreError> {
        let sql = format!(
            "SELECT {}, run FROM run_leases AS o WHERE released IS NULL
             AND token = (SELECT max(token) FROM run_leases WHERE run = o.run) ORDER BY acquired_at",
            run_lease::COLUMNS
        );
        let mut all = self.all(&sql, [], |row| {
            let run = RunId::from_stored(row.get::<_, String>("run")?);
            Ok((run, run_lease::read(row)?))
        })?;
        all.retain(|(_, lease)| !lease.may_be_taken);
        Ok(all)
    }

    /// Returns the position of the last event of the log.
    pub fn log_end(&self) -> Result<Option<LogPosition>, StoreError> {
        let tail = LogTail::read(&self.connection).map_err(|error| self.failed(&error))?;
        Ok((tail.seq > 0).then(|| LogPosition::from(&tail)))
    }

    /// Returns the damage of the database file, if there is any; reads all of it.
    pub fn find_damage(&self) -> Result<Option<String>, StoreError> {
        let found: Option<String> = self.query_one("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        Ok(found.filter(|found| found != "ok"))
    }

    /// Returns the size of the database without its write-ahead log, in bytes.
    pub fn size(&self) -> Result<u64, StoreError> {
        let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        let size = self.query_one(sql, [], |row| row.get::<_, i64>(0))?;
        Ok(size.unwrap_or(0).unsigned_abs())
    }

    /// Returns the number of migrations that made the schema.
    pub fn schema(&self) -> Result<u32, StoreError> {
        let sql = "SELECT count(*) FROM migrations";
        Ok(self.query_one(sql, [], |row| row.get(0))?.unwrap_or(0))
    }

    /// Returns the locks whose holders are dead.
    pub fn stale_locks(&self) -> Result<Vec<LockHolder>, StoreError> {
        locks::stale(&self.connection).map_err(|error| self.failed(&error))
    }

    /// Returns the tasks of living processes waiting for a lock, by time.
    pub fn lock_waits(&self) -> Result<Vec<LockWait>, StoreError> {
        locks::waits(&self.connection).map_err(|error| self.failed(&error))
    }

    /// Returns the tasks of living processes with a permit, and those waiting for one, each by time.
    pub fn permit_tasks(&self) -> Result<(Vec<PermitTask>, Vec<PermitTask>), StoreError> {
        permits::tasks(&self.connection).map_err(|error| self.failed(&error))
    }

    /// Returns the connection, for the other readers of this module.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub fn folder(&self) -> &StateFolder {
        &self.folder
    }

    /// Classifies an error of SQLite.
    pub(crate) fn failed(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::sqlite(&self.folder.database(), error)
    }

    pub(crate) fn ids(&self, sql: &str, values: impl Params) -> Result<Vec<RunId>, StoreError> {
        self.all(sql, values, |row| row.get::<_, String>(0).map(RunId::from_stored))
    }

    pub(crate) fn all<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let all = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_map(values, read)?.collect::<Result<_, _>>()
        };
        all().map_err(|error| self.failed(&error))
    }

    pub(crate) fn query_one<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let one = || self.connection.prepare_cached(sql)?.query_row(values, read).optional();
        one().map_err(|error| self.failed(&error))
    }
}
