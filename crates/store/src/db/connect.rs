use std::{path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags, config::DbConfig};

use crate::{
    db::{migrate, migrate::SchemaState},
    error::{QueryResult, StoreError},
    files::folder::{StateFolder, StoreDurability, lock_schema, own_file},
    log::{mark, mark::LogMarkFile},
};
use wf_base::failpoint;

/// The time to wait for another writing process; shorter than a lease.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// The number of statements that stay prepared; more than this module has.
const STATEMENTS: usize = 128;

/// Opens the database for writing, creating and migrating it as needed.
pub(crate) fn for_writing(
    folder: &StateFolder,
    durability: StoreDurability,
) -> Result<Connection, StoreError> {
    folder.create()?;
    own_files(folder)?;
    let path = folder.database();
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = open(&path, flags)?;
    prepare(&mut connection, folder, durability).map_err(|error| error.at(&path))?;
    mark::check(Some(&connection), folder)?;
    Ok(connection)
}

/// Creates or migrates the schema as needed, and sets up the connection.
fn prepare(
    connection: &mut Connection,
    folder: &StateFolder,
    durability: StoreDurability,
) -> QueryResult<()> {
    let path = folder.database();
    if migrate::inspect(connection, &path)? != SchemaState::Current {
        // Held until the function returns: only one process creates or changes a schema.
        let _turn = lock_schema(folder);
        match migrate::inspect(connection, &path)? {
            SchemaState::Empty => {
                // A database that should have events is not created anew.
                mark::check(None, folder)?;
                prepare_empty(connection)?;
                failpoint::point("prepare.after");
            }
            SchemaState::Old(from) => migrate::keep_copy(connection, folder, from)?,
            SchemaState::Current => {}
        }
        if let Some(tail) = migrate::migrate(connection, &path)? {
            LogMarkFile::new(folder, durability).write_mark(&tail);
        }
    }
    Ok(set_up_writer(connection, durability)?)
}

/// Opens the database for reading.
pub(super) fn for_reading(folder: &StateFolder) -> Result<Connection, StoreError> {
    own_files(folder)?;
    let path = folder.database();
    if !path.exists() {
        return missing_state(folder);
    }
    let connection = open(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    match migrate::inspect(&connection, &path).map_err(|error| error.at(&path))? {
        SchemaState::Empty => missing_state(folder),
        SchemaState::Old(_) => {
            drop(for_writing(folder, StoreDurability::Full)?);
            Ok(connection)
        }
        SchemaState::Current => Ok(connection),
    }
}

/// Opens a database for reading, whatever its schema.
pub(crate) fn unchecked(path: &Path) -> Result<Connection, StoreError> {
    open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// Opens the database for reading beside an open store: a later version that migrated it meanwhile is no hindrance.
pub(super) fn for_reading_on(folder: &StateFolder) -> Result<Connection, StoreError> {
    match for_reading(folder) {
        Err(StoreError::Newer { path, found, known, program }) => {
            let connection = unchecked(&path)?;
            let is_known = migrate::is_known_or_later(&connection);
            if is_known.map_err(|error| StoreError::sqlite(&path, &error))? {
                return Ok(connection);
            }
            Err(StoreError::Newer { path, found, known, program })
        }
        opened => opened,
    }
}

/// Refuses anything but a regular file where SQLite opens one, or the log's mark is written.
fn own_files(folder: &StateFolder) -> Result<(), StoreError> {
    let database = folder.database();
    let beside = ["-wal", "-shm"].map(|end| {
        let mut path = database.clone().into_os_string();
        path.push(end);
        path.into()
    });
    let all = beside.into_iter().chain([folder.mark(), database]);
    for path in all {
        own_file(&path).map_err(|error| StoreError::io("use", &path, &error))?;
    }
    Ok(())
}

/// Reports that there is no state, or that it is lost if there should be one.
fn missing_state<T>(folder: &StateFolder) -> Result<T, StoreError> {
    mark::check(None, folder)?;
    Err(StoreError::NoState(folder.path().into()))
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connect = || {
        let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(PATIENCE)?;
        // A query plan that depended on the bound values would be made anew for each of them.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(connection)
    };
    connect().map_err(|error| StoreError::sqlite(path, &error))
}

/// Turns an empty file into a database with a write-ahead log, with one sync in all.
///
/// The first page is synced here. The schema behind it is not: nothing relies on it before the first
/// acknowledged commit, which syncs the same file.
fn prepare_empty(connection: &Connection) -> rusqlite::Result<()> {
    for (name, value) in [
        ("journal_mode", "memory"),
        ("synchronous", "normal"),
        ("journal_mode", "wal"),
        ("synchronous", "off"),
    ] {
        connection.pragma_update(None, name, value)?;
    }
    Ok(())
}

fn set_up_writer(connection: &Connection, durability: StoreDurability) -> rusqlite::Result<()> {
    let full = durability == StoreDurability::Full;
    connection.pragma_update(None, "synchronous", if full { "full" } else { "normal" })?;
    connection.pragma_update(None, "fullfsync", full)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Savepoints of large batches stay in memory.
    connection.pragma_update(None, "temp_store", "memory")?;
    // Closing stays cheap; see `Writer::close`.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(())
}
