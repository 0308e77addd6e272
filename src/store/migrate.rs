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
    include_str!("../../migrations/0009_resumed.sql"),
];

/// What the migrations come to, as SQLite tells it: a new database is made of that, in half the time.
const WHOLE: &str = include_str!("../../migrations/whole.sql");

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

/// A database in memory with the schema that the migrations make, and nothing in it.
pub(super) fn pristine() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    begin(&connection)?;
    connection.execute_batch(WHOLE)?;
    Ok(connection)
}

/// The statement that makes a table, as the migrations come to it.
pub(super) fn statement_of(table: &str) -> &'static str {
    let mut statements = WHOLE.split_inclusive(";\n");
    let head = format!("CREATE TABLE {table} (");
    let found = statements.find_map(|text| text.find(&head).map(|at| text.split_at(at).1));
    found.unwrap_or_default()
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
            transaction.execute_batch(WHOLE).map_err(failed)?;
            0
        }
        Schema::Old => {
            let done = applied(&transaction).map_err(failed)?.len();
            for text in MIGRATIONS.iter().skip(done) {
                transaction.execute_batch(text).map_err(failed)?;
            }
            done
        }
    };
    note(&transaction, done).map_err(failed)?;
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

/// Notes that all migrations were applied, of which so many are noted.
fn note(connection: &Connection, done: usize) -> rusqlite::Result<()> {
    let mut add =
        connection.prepare("INSERT INTO migrations (number, checksum) VALUES (?1, ?2)")?;
    for (at, text) in MIGRATIONS.iter().enumerate().skip(done) {
        add.execute((number(at + 1), checksum(text)))?;
    }
    Ok(())
}

fn checksum(text: &str) -> String {
    Digest::of(text.as_bytes()).to_string()
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::{MIGRATIONS, WHOLE};

    #[test]
    fn the_whole_is_what_the_migrations_come_to() {
        let tells = |texts: &[&str]| {
            let connection = Connection::open_in_memory().unwrap();
            for text in texts {
                connection.execute_batch(text).unwrap();
            }
            let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid";
            let mut told = connection.prepare(sql).unwrap();
            let told = told.query_map([], |row| row.get::<_, String>(0)).unwrap();
            let told: Vec<String> = told.map(|sql| format!("{};\n", sql.unwrap())).collect();
            told.concat()
        };
        let expected = tells(MIGRATIONS);
        let (_, whole) = WHOLE.split_once('\n').unwrap();
        assert_eq!(whole, expected, "below its first line");
        assert_eq!(tells(&[WHOLE]), expected);
    }
}
