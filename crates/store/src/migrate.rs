use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::StoreError;
use wf_base::digest::Sha256Digest;
use wf_base::failpoint;

/// The changes of the schema, in order. A released one is never edited.
const MIGRATIONS: &[&str] = &[include_str!("../../../migrations/0001_state.sql")];

/// The application id in the header of our databases: "wfst".
const APPLICATION: i32 = 0x7766_7374;

/// The state of a database's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchemaState {
    /// There is none.
    Empty,
    /// Migrations are missing.
    Old,
    /// It is current.
    Current,
}

/// Determines the state of the schema; refuses one that this program does not know.
pub(super) fn inspect(connection: &Connection, path: &Path) -> Result<SchemaState, StoreError> {
    let failed = |error| StoreError::sqlite(path, &error);
    let tables: u32 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failed)?;
    if tables == 0 {
        return Ok(SchemaState::Empty);
    }
    let ours: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(failed)?;
    if ours != APPLICATION {
        return Err(StoreError::Foreign(path.into()));
    }
    let applied = applied(connection).map_err(failed)?;
    compare(&applied, path)
}

/// Returns the checksums of the applied migrations, in order.
fn applied(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare("SELECT checksum FROM migrations ORDER BY number")?
        .query_map([], |row| row.get(0))?
        .collect()
}

fn compare(applied: &[String], path: &Path) -> Result<SchemaState, StoreError> {
    if applied.len() > MIGRATIONS.len() {
        return Err(StoreError::Newer {
            path: path.into(),
            found: number(applied.len()),
            known: number(MIGRATIONS.len()),
        });
    }
    for (at, (found, known)) in applied.iter().zip(MIGRATIONS).enumerate() {
        if *found != checksum(known) {
            return Err(StoreError::Changed { path: path.into(), number: number(at + 1) });
        }
    }
    if applied.len() < MIGRATIONS.len() { Ok(SchemaState::Old) } else { Ok(SchemaState::Current) }
}

/// Opens an empty database in memory with the schema that the migrations make.
pub(super) fn pristine() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    begin(&connection)?;
    for text in MIGRATIONS {
        connection.execute_batch(text)?;
    }
    Ok(connection)
}

/// The statement that makes a table.
///
/// **Invariant:** no migration alters a table that is asked for here.
pub(super) fn statement_of(table: &str) -> &'static str {
    let head = format!("CREATE TABLE {table} (");
    let found = MIGRATIONS.iter().find_map(|text| {
        let (_, after) = text.split_at(text.find(&head)?);
        Some(after.split_at(after.find(";\n")?).0)
    });
    found.unwrap_or_default()
}

/// The statements that make the indices of a table.
pub(super) fn indices_of(table: &str) -> impl Iterator<Item = &'static str> {
    let on = format!(" ON {table} (");
    let statements = MIGRATIONS.iter().flat_map(|text| text.split_inclusive(";\n"));
    let made = statements.filter_map(|text| text.trim_start().strip_suffix(";\n"));
    made.filter(move |text| text.starts_with("CREATE INDEX ") && text.contains(&on))
}

/// Applies the missing migrations, in one transaction.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::sqlite(path, &error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Another process may have been faster.
    let done = match inspect(&transaction, path)? {
        SchemaState::Current => return Ok(()),
        SchemaState::Empty => {
            begin(&transaction).map_err(failed)?;
            0
        }
        SchemaState::Old => applied(&transaction).map_err(failed)?.len(),
    };
    for text in MIGRATIONS.iter().skip(done) {
        transaction.execute_batch(text).map_err(failed)?;
    }
    note(&transaction, done).map_err(failed)?;
    failpoint::point("migrate.before");
    transaction.commit().map_err(failed)?;
    failpoint::point("migrate.after");
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

#[cfg(test)]
mod tests {
    use super::{pristine, statement_of};

    #[test]
    fn a_table_is_made_by_one_statement() {
        let connection = pristine().unwrap();
        let sql = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name <> 'migrations'";
        let mut tables = connection.prepare(sql).unwrap();
        let tables = tables.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        let tables: Vec<(String, String)> = tables.unwrap().map(Result::unwrap).collect();
        assert!(tables.len() > 10);
        for (name, sql) in tables {
            assert_eq!(statement_of(&name), sql, "{name}");
        }
    }
}
