//! The recorded tables as a whole, kept so not all events about them have to be folded.
//!
//! A snapshot is one of the texts of the database, and an event has its digest. It only saves time: where
//! it is gone or was altered, the events before it are folded.

use rusqlite::{Connection, OptionalExtension};

use crate::{
    events::run_events,
    projections::row_log::{RECORDED_TABLES, elements},
};
use wf_base::digest::Sha256Digest;

/// The number of events folded before it is worth a snapshot; at least one for this many rows.
const EVENTS: i64 = if cfg!(test) { 64 } else { 1024 };
const ROWS: i64 = 8;

/// The number of events, of any kind, in which there is a snapshot, if it has less rows than events times [`ROWS`].
pub(super) const SPAN: i64 = if cfg!(test) { 256 } else { 4096 };

/// The beginning of each snapshot, which no spec file has.
pub(crate) const HEAD: &str = "rows_recorded\n";

/// True if so many events were folded that a snapshot saves time.
pub(super) fn is_due(connection: &Connection) -> rusqlite::Result<bool> {
    let events: i64 =
        connection.prepare_cached("SELECT events FROM temp.row_fold")?.query_row([], |row| row.get(0))?;
    // Counting the rows takes time, too.
    Ok(events >= EVENTS && events % EVENTS == 0 && is_worth(connection, events)?)
}

/// True if a snapshot has few rows, compared with a number of events.
pub(super) fn is_worth(connection: &Connection, events: i64) -> rusqlite::Result<bool> {
    let mut rows = 0;
    for table in &RECORDED_TABLES {
        let sql = format!("SELECT count(*) FROM temp.{}", table.name);
        rows += connection.query_row(&sql, [], |row| row.get::<_, i64>(0))?;
    }
    Ok(events * ROWS >= rows)
}

/// True if there is a snapshot.
pub(crate) fn exists(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM source_texts WHERE substr(text, 1, length(?1)) = ?1";
    connection.prepare_cached(sql)?.exists([HEAD])
}

/// Keeps the temporary tables as a text, instead of the one before; returns its digest.
pub(crate) fn keep(connection: &Connection) -> rusqlite::Result<Sha256Digest> {
    let mut text = HEAD.to_owned();
    for (at, table) in RECORDED_TABLES.iter().enumerate() {
        let (name, columns) = (table.name, table.columns().join(", "));
        let order = table.key.join(", ");
        let sql = format!(
            "SELECT json_group_array(json_array({columns})) FROM (SELECT * FROM temp.{name} ORDER BY {order})"
        );
        let rows: String = connection.query_row(&sql, [], |row| row.get(0))?;
        text += &format!("{}\"{name}\":{rows}", if at == 0 { "{" } else { "," });
    }
    text += "}";
    let digest = Sha256Digest::of_bytes(text.as_bytes());
    let old = "DELETE FROM source_texts
               WHERE substr(text, 1, length(?1)) = ?1 AND digest NOT IN (SELECT text FROM main.run_sources)";
    connection.execute(old, [HEAD])?;
    run_events::keep_text(connection, &digest, &text)?;
    // The event with its digest is counted, too.
    connection.execute("UPDATE temp.row_fold SET events = -1", [])?;
    Ok(digest)
}

/// Fills the temporary tables from a snapshot; false if its text is gone or was altered.
pub(crate) fn restore(connection: &Connection, digest: &Sha256Digest) -> rusqlite::Result<bool> {
    let sql = "SELECT text FROM source_texts WHERE digest = ?1";
    let text: Option<String> =
        connection.prepare_cached(sql)?.query_row([digest.bytes()], |row| row.get(0)).optional()?;
    let text = text.filter(|text| Sha256Digest::of_bytes(text.as_bytes()) == *digest);
    let Some(tables) = text.as_deref().and_then(|text| text.strip_prefix(HEAD)) else {
        return Ok(false);
    };
    for table in &RECORDED_TABLES {
        let (name, columns) = (table.name, table.columns());
        connection.execute(&format!("DELETE FROM temp.{name}"), [])?;
        let sql = format!(
            "INSERT INTO temp.{name} ({}) SELECT {} FROM json_each(?1, '$.{name}')",
            columns.join(", "),
            elements("value", columns.len())
        );
        connection.execute(&sql, [tables])?;
    }
    connection.execute("UPDATE temp.row_fold SET events = 0", []).map(|_| true)
}
