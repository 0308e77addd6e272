//! Readers that stay open between views.

use std::{
    fs,
    ops::Deref,
    os::unix::fs::MetadataExt as _,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{db::reader::StoreReader, error::StoreError, files::folder::StateFolder};
use wf_base::name::RunId;

/// The most readers that stay open while nothing is read. Each has a page cache of its own, of 2 MB at most.
pub(crate) const MAX_IDLE: usize = 8;

/// Readers that stay open between views: to open the database, read its schema and prepare statements takes longer than
/// most views.
///
/// **Invariant:** a reader in the pool is in no transaction, so it delays no checkpoint. **Invariant:** a view
/// never reads a database file removed, or replaced by another one, before it began.
#[derive(Clone, Debug, Default)]
pub struct ReaderPool(Arc<Mutex<Vec<PooledReader>>>);

/// A reader, and the database as it was when it was opened.
#[derive(Debug)]
pub(crate) struct PooledReader {
    reader: StoreReader,
    file: DatabaseFile,
    /// The number of changes to the schema. After one, the schema may be that of another program.
    schema_changes: i64,
}

/// The file at the path of a database. No other file gets its number while a reader has it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DatabaseFile {
    device: u64,
    number: u64,
}

/// A reader for one view: all it reads is the state as of one instant. It returns to its pool when it is dropped.
#[derive(Debug)]
pub struct ViewReader {
    /// `None` once it is dropped.
    pooled: Option<PooledReader>,
    pool: ReaderPool,
}

impl ReaderPool {
    /// Returns a reader of a state folder. Fails with [`StoreError::NoState`] if there is none.
    pub fn view(&self, dir: &Path) -> Result<ViewReader, StoreError> {
        let folder = StateFolder::new(dir);
        // Looked at before it is opened: if it is replaced in between, the reader serves this view alone.
        let file = DatabaseFile::at(&folder.database());
        while let Some(pooled) = self.take(&folder, file) {
            // A reader that cannot begin, or whose schema has changed, is closed.
            if pooled.begin().is_ok_and(|changes| changes == pooled.schema_changes) {
                return Ok(self.lend(pooled));
            }
        }
        let mut pooled = PooledReader {
            reader: StoreReader::open(dir)?,
            file: file.unwrap_or(DatabaseFile::NONE),
            schema_changes: 0,
        };
        pooled.schema_changes = pooled.begin()?;
        Ok(self.lend(pooled))
    }

    fn lend(&self, pooled: PooledReader) -> ViewReader {
        ViewReader { pooled: Some(pooled), pool: self.clone() }
    }

    /// Takes an idle reader of the file that is there now, and closes those of other files.
    fn take(&self, folder: &StateFolder, file: Option<DatabaseFile>) -> Option<PooledReader> {
        let mut idle = self.idle();
        idle.retain(|one| Some(one.file) == file && one.reader.folder() == folder);
        idle.pop()
    }

    pub(crate) fn idle(&self) -> MutexGuard<'_, Vec<PooledReader>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PooledReader {
    /// Begins to read the state as it is now, and returns the number of changes to its schema.
    fn begin(&self) -> Result<i64, StoreError> {
        let connection = self.reader.connection();
        let begun = connection.execute_batch("BEGIN").and_then(|()| {
            connection.prepare_cached("PRAGMA schema_version")?.query_row([], |row| row.get(0))
        });
        begun.map_err(|error| self.reader.failed(error))
    }

    /// Ends the transaction; false if the reader is of no further use.
    fn end(&self) -> bool {
        let connection = self.reader.connection();
        connection.execute_batch("COMMIT").is_ok() && connection.is_autocommit() && !self.reader.is_from_log()
    }
}

impl DatabaseFile {
    /// No file at all.
    const NONE: Self = Self { device: 0, number: 0 };

    fn at(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(Self { device: found.dev(), number: found.ino() })
    }
}

impl ViewReader {
    /// Returns a reader for what is shown of a run, as [`StoreReader::of_run`] does.
    pub fn of_run(self, run: &RunId, max_events: u64) -> Result<Self, StoreError> {
        let reader = StoreReader::of_run(self.folder().path(), run, max_events)?;
        if !reader.is_from_log() {
            return Ok(self);
        }
        let mut pooled = PooledReader { reader, file: DatabaseFile::NONE, schema_changes: 0 };
        pooled.schema_changes = pooled.begin()?;
        Ok(self.pool.lend(pooled))
    }
}

impl Deref for ViewReader {
    type Target = StoreReader;

    fn deref(&self) -> &StoreReader {
        &self.pooled.as_ref().expect("it is there until it is dropped").reader
    }
}

impl Drop for ViewReader {
    fn drop(&mut self) {
        let Some(pooled) = self.pooled.take().filter(PooledReader::end) else {
            return;
        };
        let mut idle = self.pool.idle();
        if idle.len() < MAX_IDLE {
            idle.push(pooled);
        }
    }
}
