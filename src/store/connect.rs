use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::migrate::{self, Schema};
use super::{Durability, Folder, StoreError, mark, own_file};
use crate::crash;

/// How long to wait for another process that writes; less than a lease lasts.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// How many statements stay prepared; more than this module has.
const STATEMENTS: usize = 64;

/// Opens the database for writing, making and migrating it as needed.
pub(super) fn for_writing(
    folder: &Folder,
    durability: Durability,
) -> Result<Connection, StoreError> {
    folder.create()?;
    own_files(folder)?;
    let path = folder.database();
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = open(&path, flags)?;
    let failed = |error| StoreError::sqlite(&path, &error);
    if migrate::inspect(&connection, &path)? != Schema::Current {
        // Held until the function ends: only one process makes or changes a schema.
        let _turn = turn(folder);
        if migrate::inspect(&connection, &path)? == Schema::Empty {
            // What should be full is not begun anew.
            mark::check(None, folder)?;
            prepare_empty(&connection).map_err(failed)?;
            crash::point("prepare.after");
        }
        migrate::migrate(&mut connection, &path)?;
    }
    set_up_writer(&connection, durability).map_err(failed)?;
    mark::check(Some(&connection), folder)?;
    Ok(connection)
}

/// Opens the database for reading.
pub(super) fn for_reading(folder: &Folder) -> Result<Connection, StoreError> {
    own_files(folder)?;
    let path = folder.database();
    if !path.exists() {
        return nothing(folder);
    }
    let connection = open(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    match migrate::inspect(&connection, &path)? {
        Schema::Empty => nothing(folder),
        Schema::Old => {
            drop(for_writing(folder, Durability::Full)?);
            Ok(connection)
        }
        Schema::Current => Ok(connection),
    }
}

/// Refuses what is no file where SQLite, or whoever notes the end of the log, would open one.
fn own_files(folder: &Folder) -> Result<(), StoreError> {
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

/// There is no state, unless there should be.
fn nothing<T>(folder: &Folder) -> Result<T, StoreError> {
    mark::check(None, folder)?;
    Err(StoreError::NoState(folder.path().into()))
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let failed = |error| StoreError::sqlite(path, &error);
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    // A plan that depended on the values bound would be made anew for each of them.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// A turn among the processes that want to change the schema. A file system that knows no
/// locks leaves it to SQLite's own.
pub(super) fn turn(folder: &Folder) -> Option<File> {
    let file = File::open(folder.path()).ok()?;
    file.lock().ok()?;
    Some(file)
}

/// The turn, if nobody has it.
pub(super) fn free_turn(folder: &Folder) -> Option<File> {
    let file = File::open(folder.path()).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// Turns an empty file into a database with a write-ahead log, with one sync in all.
///
/// The first page is synced here. The schema that follows is not: nobody relies on it before
/// the first acknowledged commit, and that one syncs the same file.
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

fn set_up_writer(connection: &Connection, durability: Durability) -> rusqlite::Result<()> {
    let full = durability == Durability::Full;
    connection.pragma_update(None, "synchronous", if full { "full" } else { "normal" })?;
    connection.pragma_update(None, "fullfsync", full)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Savepoints of large batches stay in memory.
    connection.pragma_update(None, "temp_store", "memory")?;
    // Closing stays cheap; see `Writer::close`.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(())
}
