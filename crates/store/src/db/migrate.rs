//! The changes of the schema. A state of an earlier version is brought up to date in one transaction, which the log records.
//!
//! **Invariant:** a migration only adds: a process of an earlier version with the state open goes on.

use std::{fs, fs::File, io, path::Path};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::{
    error::{QueryResult, StoreError},
    files::{
        folder::{StateFolder, create_private},
        reserve::free_space,
    },
    log::{
        state_event::{StateEvent, StateFact},
        tail::{LogTail, RunPosition},
    },
};
use wf_base::{
    digest::Sha256Digest,
    failpoint, program,
    time::{Clock, Moment, SystemClock},
};

/// The changes of the schema, in order. None is ever edited: see the test.
pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("../../../../migrations/0001_state.sql"),
    include_str!("../../../../migrations/0002_programs.sql"),
];

/// The application id in the header of our databases: "wfst".
const APPLICATION: i32 = 0x7766_7374;

/// The state of a database's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemaState {
    /// There is none.
    Empty,
    /// The migrations behind a number are missing.
    Old(u32),
    Current,
}

/// Determines the state of the schema; refuses one this program does not know.
pub(crate) fn inspect(connection: &Connection, path: &Path) -> QueryResult<SchemaState> {
    let tables: u32 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 {
        return Ok(SchemaState::Empty);
    }
    let ours: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if ours != APPLICATION {
        return Err(StoreError::Foreign(path.into()).into());
    }
    Ok(compare(&applied(connection)?, path, || last_program(connection))?)
}

/// True if a schema is one that this program knows, or that with later migrations: they only add.
pub(super) fn is_known_or_later(connection: &Connection) -> rusqlite::Result<bool> {
    let applied = applied(connection)?;
    Ok(applied.len() >= MIGRATIONS.len()
        && MIGRATIONS.iter().zip(applied).all(|(known, found)| found == checksum(known)))
}

/// Returns the program that opened the state last to write; `None`: it is unknown, or the schema older than its record.
pub(crate) fn last_program(connection: &Connection) -> Option<String> {
    let sql = "SELECT version FROM programs ORDER BY number DESC LIMIT 1";
    connection.query_row(sql, [], |row| row.get(0)).ok()
}

/// Returns the checksums of the applied migrations, in order.
fn applied(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare("SELECT checksum FROM migrations ORDER BY number")?
        .query_map([], |row| row.get(0))?
        .collect()
}

fn compare(
    applied: &[String],
    path: &Path,
    program: impl Fn() -> Option<String>,
) -> Result<SchemaState, StoreError> {
    if applied.len() > MIGRATIONS.len() {
        return Err(StoreError::Newer {
            path: path.into(),
            found: number(applied.len()),
            known: number(MIGRATIONS.len()),
            program: program(),
        });
    }
    for (at, (found, known)) in applied.iter().zip(MIGRATIONS).enumerate() {
        if *found != checksum(known) {
            return Err(StoreError::Changed {
                path: path.into(),
                number: number(at + 1),
                program: program(),
            });
        }
    }
    if applied.len() < MIGRATIONS.len() {
        Ok(SchemaState::Old(number(applied.len())))
    } else {
        Ok(SchemaState::Current)
    }
}

/// Opens an empty database in memory with the schema the migrations make.
pub(crate) fn pristine() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    begin(&connection)?;
    for text in MIGRATIONS {
        connection.execute_batch(text)?;
    }
    Ok(connection)
}

/// Applies the missing migrations, in one transaction; returns the end of the log if that records them.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> QueryResult<Option<LogTail>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let done = match inspect(&transaction, path)? {
        SchemaState::Current => return Ok(None),
        SchemaState::Empty => {
            begin(&transaction)?;
            0
        }
        SchemaState::Old(done) => done,
    };
    for text in MIGRATIONS.iter().skip(done as usize) {
        transaction.execute_batch(text)?;
    }
    let now = SystemClock.now();
    note(&transaction, done as usize)?;
    note_program(&transaction, now)?;
    let tail = if done > 0 { Some(record(&transaction, done, now)?) } else { None };
    failpoint::point("migrate.before");
    transaction.commit()?;
    failpoint::point("migrate.after");
    Ok(tail)
}

/// Adds the migration to the log.
fn record(connection: &Connection, from: u32, now: Moment) -> rusqlite::Result<LogTail> {
    let fact = StateFact::StateMigrated { from, to: number(MIGRATIONS.len()), wf: program::version().into() };
    let body = serde_json::to_string(&StateEvent { at: now, fact });
    let body = body.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let mut tail = LogTail::read(connection)?;
    let place = RunPosition::of_state(&tail);
    tail.push(connection, place, &body)?;
    Ok(tail)
}

/// Records this program as the one that opened the state last to write.
pub(super) fn note_program(connection: &Connection, now: Moment) -> rusqlite::Result<()> {
    let sql = "SELECT version FROM programs ORDER BY number DESC LIMIT 1";
    let last: Option<String> = connection.query_row(sql, [], |row| row.get(0)).optional()?;
    let version = program::version();
    if last.as_deref() != Some(version) {
        let sql = "INSERT INTO programs (version, since) VALUES (?1, ?2)";
        connection.execute(sql, (version, now.millis()))?;
    }
    Ok(())
}

fn begin(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.execute_batch(
        "CREATE TABLE migrations (
            number   INTEGER PRIMARY KEY,
            checksum TEXT NOT NULL
        ) STRICT",
    )
}

/// Records all migrations as applied; `done` of them are recorded already.
fn note(connection: &Connection, done: usize) -> rusqlite::Result<()> {
    let mut add = connection.prepare("INSERT INTO migrations (number, checksum) VALUES (?1, ?2)")?;
    for (at, text) in MIGRATIONS.iter().enumerate().skip(done) {
        add.execute((number(at + 1), checksum(text)))?;
    }
    Ok(())
}

fn checksum(text: &str) -> String {
    Sha256Digest::of_bytes(text.as_bytes()).to_string()
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

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

#[cfg(test)]
mod tests {
    use super::{MIGRATIONS, checksum};

    /// The checksums of all migrations: a new one is added, and none is ever changed.
    const FROZEN: &[&str] = &[
        "89fe2703cb0b410e46e0db3bcb51a28fed5331b6099cc3c010431e1ddef60d96",
        "21bf39605db6237428c6d66242265220519e14752a4938c45220975b62864c67",
    ];

    #[test]
    fn no_migration_is_ever_edited() {
        let found: Vec<String> = MIGRATIONS.iter().map(|text| checksum(text)).collect();
        assert_eq!(found, FROZEN, "states in use have the old one: add a migration instead");
    }

    #[test]
    fn a_migration_only_adds() {
        for text in &MIGRATIONS[1..] {
            let bad = ["DROP ", "RENAME ", "DELETE ", "UPDATE "].into_iter().find(|word| text.contains(word));
            assert_eq!(bad, None, "a process of an earlier version may have the state open");
        }
    }
}
