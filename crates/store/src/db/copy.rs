//! The copies of the database, and the one from before an upgrade.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rusqlite::Connection;

use crate::error::StoreError;
use crate::files::folder::{StateFolder, create_private};
use crate::files::reserve::free_space;

/// Copies a database as of one instant into a new file.
pub(crate) fn copy_database(connection: &Connection, to: &Path) -> Result<(), StoreError> {
    let copied = connection.execute("VACUUM INTO ?1", [to.to_str().unwrap_or_default()]);
    copied.map(drop).map_err(|error| StoreError::sqlite(to, &error))
}

/// Returns the name of the copy of a database with a schema.
pub(crate) fn copy_name(schema: u32) -> String {
    format!("schema-{schema}.db")
}

/// Returns the size of a copy of a database, without its free pages.
pub(crate) fn copy_size(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT (page_count - freelist_count) * page_size
               FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()";
    connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}

/// Copies the database before its schema is changed. A disk without room for the copy is an error, and nothing is changed.
pub(super) fn keep_copy(connection: &Connection, folder: &StateFolder, from: u32) -> Result<(), StoreError> {
    let kept = folder.upgrades().join(copy_name(from));
    create_private(&folder.upgrades())?;
    let needed = copy_size(connection).map_err(|error| StoreError::sqlite(&folder.database(), &error))?;
    if let Some(free) = free_space(folder.path()).filter(|free| *free <= needed) {
        return Err(StoreError::NoRoom { path: kept, needed, free });
    }
    let failed = |error: io::Error| StoreError::io("write", &kept, &error);
    // One that a kill left; whoever copies has the lock of the schema.
    let copy = kept.with_extension("new");
    let _ = fs::remove_file(&copy);
    copy_database(connection, &copy)?;
    File::open(&copy).and_then(|file| file.sync_all()).map_err(failed)?;
    fs::rename(&copy, &kept).map_err(failed)?;
    File::open(folder.upgrades()).and_then(|folder| folder.sync_all()).map_err(failed)
}
