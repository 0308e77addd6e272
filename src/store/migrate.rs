use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::StoreError;
use crate::crash;
use crate::digest::Digest;

/// The changes of the schema, in order. One that was released is never edited.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/0001_state.sql"),
    include_str!("../../migrations/0002_leases.sql"),
    include_str!("../../migrations/0003_stale.sql"),
    include_str!("../../migrations/0004_approvals.sql"),
    include_str!("../../migrations/0005_rounds.sql"),
    include_str!("../../migrations/0006_memory.sql"),
    include_str!("../../migrations/0007_goals.sql"),
    include_str!("../../migrations/0008_connections.sql"),
];

/// Marks our databases, in the file's header: "wfst".
const APPLICATION: i32 = 0x7766_7374;

/// How far a database's schema is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schema {
    /// It has none.
    Empty,
    /// Migrations are missing.
    Old,
    /// It is what this program knows.
    Current,
}

/// Finds how far the schema is; refuses what this program does not know.
pub(super) fn inspect(connection: &Connection, path: &Path) -> Result<Schema, StoreError> {
    let failed = |error| StoreError::sqlite(path, &error);
    let tables: u32 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(failed)?;
    if tables == 0 {
        return Ok(Schema::Empty);
    }
    let ours: i32 = connection
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .map_err(failed)?;
    if ours != APPLICATION {
        return Err(StoreError::Foreign(path.into()));
    }
    let applied = applied(connection).map_err(failed)?;
    compare(&applied, path)
}

/// The checksums of the migrations that were applied, in order.
fn applied(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare("SELECT checksum FROM migrations ORDER BY number")?
        .query_map([], |row| row.get(0))?
        .collect()
}

fn compare(applied: &[String], path: &Path) -> Result<Schema, StoreError> {
    if applied.len() > MIGRATIONS.len() {
        return Err(StoreError::Newer {
            path: path.into(),
            found: number(applied.len()),
            known: number(MIGRATIONS.len()),
        });
    }
    for (at, (found, known)) in applied.iter().zip(MIGRATIONS).enumerate() {
        if *found != checksum(known) {
            return Err(StoreError::Changed {
                path: path.into(),
                number: number(at + 1),
            });
        }
    }
    if applied.len() < MIGRATIONS.len() {
        Ok(Schema::Old)
    } else {
        Ok(Schema::Current)
    }
}

/// Applies what is missing, in one transaction.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::sqlite(path, &error);
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    // Another process may have been faster.
    let done = match inspect(&transaction, path)? {
        Schema::Current => return Ok(()),
        Schema::Empty => {
            begin(&transaction).map_err(failed)?;
            0
        }
        Schema::Old => applied(&transaction).map_err(failed)?.len(),
    };
    for (at, text) in MIGRATIONS.iter().enumerate().skip(done) {
        transaction.execute_batch(text).map_err(failed)?;
        transaction
            .execute(
                "INSERT INTO migrations (number, checksum) VALUES (?1, ?2)",
                (number(at + 1), checksum(text)),
            )
            .map_err(failed)?;
    }
    crash::point("migrate.before");
    transaction.commit().map_err(failed)?;
    crash::point("migrate.after");
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

fn checksum(text: &str) -> String {
    Digest::of(text.as_bytes()).to_string()
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
