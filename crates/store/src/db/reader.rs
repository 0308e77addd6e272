use std::path::Path;

use rusqlite::{Connection, Params, Row};

use crate::{
    column::RowColumns,
    db::connect,
    error::{QueryError, StoreError},
    files::folder::StateFolder,
    projections::fold::ShadowProjections,
    query,
};
use wf_base::name::RunId;

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

    /// Returns the connection, for the other readers of this module.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub fn folder(&self) -> &StateFolder {
        &self.folder
    }

    /// Returns an error as one of this database.
    pub(crate) fn failed(&self, error: impl Into<QueryError>) -> StoreError {
        error.into().at(&self.folder.database())
    }

    /// Queries the connection.
    pub(crate) fn query<T, E: Into<QueryError>>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, StoreError> {
        read(&self.connection).map_err(|error| self.failed(error))
    }

    pub(crate) fn ids(&self, sql: &str, values: impl Params) -> Result<Vec<RunId>, StoreError> {
        self.all(sql, values, |row| row.run(0))
    }

    pub(crate) fn all<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.query(|connection| query::all(connection, sql, values, read))
    }

    pub(crate) fn query_one<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        self.query(|connection| query::first(connection, sql, values, read))
    }
}
