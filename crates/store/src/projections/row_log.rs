//! The tables of goals, memory, connections, sessions and suggestions, as the log yields them.
//!
//! On every connection using them, temporary tables of the same names hide the stored ones, and are filled
//! from the events `rows_recorded`. Decisions read and write these; what a job changed is recorded as one
//! event, and only then copied to the stored tables, which nothing reads.
//!
//! **Invariant:** a row of these tables no event of the log yields decides nothing.

use std::collections::BTreeMap;

use rusqlite::Connection;
use serde_json::Value;

use crate::{
    column::{JsonColumn, RowColumns, integer},
    db::{
        migrate::MIGRATIONS,
        statements::{make_shadow, make_shadow_indices},
        store::Store,
        ticket::WriteTicket,
        writer::WriteContext,
    },
    error::QueryResult,
    events::run_events,
    log::{
        chain::{BrokenChain, ChainFault, LINKED, fault},
        state_event::{GoneBodiesOnDemand, StateEvent, StateFact, TableChange, is_row_change},
    },
    projections::row_snapshot,
};
use wf_base::time::Moment;

/// A table whose rows are events of the log. The first columns are its key.
pub(crate) struct RecordedTable {
    pub(crate) name: &'static str,
    pub(crate) key: &'static [&'static str],
    rest: &'static [&'static str],
}

/// The tables of goals, memory, connections, sessions and suggestions.
pub(super) const RECORDED_TABLES: [RecordedTable; 10] = [
    RecordedTable {
        name: "goals",
        key: &["id"],
        rest: &["path", "timing", "decided_until", "paused_at", "reason", "resumed_at", "deployment"],
    },
    RecordedTable {
        name: "slots",
        key: &["goal", "slot"],
        rest: &["last_slot", "count", "state", "cause", "reason", "at", "run"],
    },
    RecordedTable {
        name: "reconciliations",
        key: &["run"],
        rest: &["goal", "slot", "cause", "started_at", "repair_run", "ended", "health", "reason"],
    },
    RecordedTable {
        name: "notifications",
        key: &["id"],
        rest: &["goal", "body", "at", "tries", "sent", "error"],
    },
    RecordedTable { name: "feedback", key: &["run"], rest: &["goal", "opinion", "note", "who", "at"] },
    RecordedTable {
        name: "megrams",
        key: &["id"],
        rest: &["level", "created", "recalled", "space", "entity", "content", "state", "f", "sigma", "k"],
    },
    RecordedTable { name: "notes", key: &["id"], rest: &["created", "note"] },
    RecordedTable {
        name: "connections",
        key: &["name"],
        rest: &[
            "skill",
            "folder",
            "digest",
            "auth",
            "state",
            "account",
            "permissions",
            "refs",
            "created",
            "checked",
            "token_expires_at",
            "refresh_expires_at",
            "last_refresh",
            "last_used",
            "failure",
            "message",
        ],
    },
    RecordedTable {
        name: "sessions",
        key: &["name"],
        rest: &["state", "interrupts", "reason", "created", "changed", "is_current"],
    },
    RecordedTable {
        name: "suggestions",
        key: &["number"],
        rest: &["run", "plan", "title", "why", "path", "params", "state", "since", "changed", "started"],
    },
];

impl Store {
    /// Queues a job reading or changes the recorded tables, at a time.
    pub(crate) fn row_job<T, W>(&self, at: Moment, work: W) -> WriteTicket<T>
    where
        T: Send + 'static,
        W: FnOnce(&WriteContext<'_>) -> QueryResult<T> + Send + 'static,
    {
        self.job(move |writing| change(writing, at, || work(writing)))
    }

    /// Queues a job reading or changes the recorded tables, now, and fails only with an error of SQLite.
    pub(crate) fn row_sql<T, W>(&self, work: W) -> WriteTicket<T>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.job(move |writing| change(writing, writing.writer.clock.now(), || Ok(work(writing.connection)?)))
    }
}

/// Does a job reading or changes these tables, and records what it changed.
pub(crate) fn change<T>(
    writing: &WriteContext<'_>,
    at: Moment,
    job: impl FnOnce() -> QueryResult<T>,
) -> QueryResult<T> {
    let connection = writing.connection;
    fold(connection)?;
    let done = job()?;
    let tables = changes(connection)?;
    if !tables.is_empty() {
        record(writing, at, StateFact::RowsRecorded { whole: None, tables })?;
        if row_snapshot::is_due(connection)? {
            keep_snapshot(writing, at)?;
        }
    }
    Ok(done)
}

/// Keeps a snapshot before the first event of a run, where the log has grown past a multiple of [`row_snapshot::SPAN`]
/// since the last such event: a fold reads the first events of all runs since a snapshot, also where none of them is about
/// these tables.
pub(crate) fn limit_fold(writing: &WriteContext<'_>, at: Moment) -> QueryResult<()> {
    let connection = writing.connection;
    let ends = "SELECT (SELECT max(run) FROM events), (SELECT max(seq) FROM events)";
    let (first, last): (Option<i64>, Option<i64>) =
        connection.prepare_cached(ends)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (Some(first), Some(last)) = (first, last) else { return Ok(()) };
    if first / row_snapshot::SPAN == (last + 1) / row_snapshot::SPAN {
        return Ok(());
    }
    fold(connection)?;
    if row_snapshot::is_worth(connection, row_snapshot::SPAN)? {
        keep_snapshot(writing, at)?;
    }
    Ok(())
}

/// Replaces the snapshot, if there is one.
pub(crate) fn renew_snapshot(writing: &WriteContext<'_>, at: Moment) -> QueryResult<()> {
    if row_snapshot::exists(writing.connection)? {
        keep_snapshot(writing, at)?;
    }
    Ok(())
}

fn keep_snapshot(writing: &WriteContext<'_>, at: Moment) -> QueryResult<()> {
    let whole = Some(row_snapshot::keep(writing.connection)?);
    record(writing, at, StateFact::RowsRecorded { whole, tables: BTreeMap::new() })
}

/// Adds an event, and applies it to the stored tables; the temporary ones have it.
fn record(writing: &WriteContext<'_>, at: Moment, fact: StateFact) -> QueryResult<()> {
    let event = StateEvent { at, fact };
    let place = run_events::add_state_event(writing, &event)?;
    apply(writing.connection, "main", event.fact.tables())?;
    let seq = integer(place.seq);
    Ok(finish(writing.connection, seq, 1)?)
}

/// Brings the temporary tables of a connection up to date with the log.
pub(crate) fn fold(connection: &Connection) -> QueryResult<()> {
    connection.execute_batch("SAVEPOINT row_fold")?;
    let folded = make_tables(connection).map_err(Into::into).and_then(|()| take(connection));
    if folded.is_err() {
        connection.execute_batch("ROLLBACK TO row_fold")?;
    }
    connection.execute_batch("RELEASE row_fold")?;
    folded
}

/// Makes the temporary tables, unless they exist. A transaction that is rolled back takes them with
/// it, and what was folded into them.
fn make_tables(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT 1 FROM temp.sqlite_schema WHERE name = 'row_fold'";
    if connection.prepare_cached(sql)?.exists([])? {
        return Ok(());
    }
    // The last folded event, and the number of events `rows_recorded` since the last snapshot.
    connection.execute_batch(
        "CREATE TEMP TABLE row_fold (seq INTEGER NOT NULL, events INTEGER NOT NULL);
         INSERT INTO temp.row_fold VALUES (0, 0);
         CREATE TEMP TABLE row_changes (name TEXT NOT NULL, key TEXT NOT NULL)",
    )?;
    for table in &RECORDED_TABLES {
        let RecordedTable { name, key, .. } = table;
        make_shadow(connection, name, MIGRATIONS)?;
        make_shadow_indices(connection, name, MIGRATIONS)?;
        for (event, rows) in [("INSERT", &["new"][..]), ("UPDATE", &["old", "new"]), ("DELETE", &["old"])] {
            let noted: String = rows
                .iter()
                .map(|row| {
                    let key: Vec<String> = key.iter().map(|column| format!("{row}.{column}")).collect();
                    format!("INSERT INTO row_changes VALUES ('{name}', json_array({}));", key.join(", "))
                })
                .collect();
            connection.execute_batch(&format!(
                "CREATE TEMP TRIGGER {name}_{event} AFTER {event} ON {name} BEGIN {noted} END"
            ))?;
        }
    }
    // Statements prepared before would still find the stored tables.
    connection.flush_prepared_statement_cache();
    Ok(())
}

/// Folds the events since the last fold: backwards to it, or to the last snapshot, and forwards again.
fn take(connection: &Connection) -> QueryResult<()> {
    let last: i64 =
        connection.prepare_cached("SELECT seq FROM temp.row_fold")?.query_row([], |row| row.get(0))?;
    let sql = format!(
        "WITH RECURSIVE keys (key) AS (
             SELECT max(run) FROM events
             UNION ALL SELECT (SELECT max(run) FROM events WHERE run < key) FROM keys WHERE key > ?1)
         SELECT {LINKED} FROM keys CROSS JOIN events ON run = key AND run_seq = 0 WHERE key > ?1"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([last])?;
    let (mut newest, mut found, mut gone) = (last, Vec::new(), GoneBodiesOnDemand::default());
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        newest = newest.max(seq);
        let body = row.get_ref(7)?.as_str_or_null()?;
        // Every first event is compared: one that was changed might hide its kind.
        let fault = match fault(row)? {
            None if body.is_none() && !gone.get(connection)?.keys.contains(&seq) => {
                Some(ChainFault::Bodiless)
            }
            found => found,
        };
        if let Some(fault) = fault {
            return Err(BrokenChain { seq: seq.unsigned_abs(), run: None, fault }.into());
        }
        if body.is_some_and(is_row_change) {
            let JsonColumn(event): JsonColumn<StateEvent> = row.get(7)?;
            match event.fact {
                // One whose text is gone is no end: all events before it are still there.
                StateFact::RowsRecorded { whole: Some(digest), .. }
                    if row_snapshot::restore(connection, &digest)? =>
                {
                    break;
                }
                _ => found.push(seq),
            }
        } else if body.is_none() && gone.get(connection)?.rows.contains_key(&seq) {
            // What is left of it is in an event behind it, which was compared before.
            found.push(seq);
        }
    }
    drop(rows);
    let mut body = connection.prepare_cached("SELECT body FROM events WHERE seq = ?1")?;
    for seq in found.iter().rev() {
        let kept: Option<JsonColumn<StateEvent>> = body.query_row([seq], |row| row.get(0))?;
        if let Some(JsonColumn(event)) = kept {
            apply(connection, "temp", event.fact.tables())?;
        } else if let Some(left) = gone.get(connection)?.rows.get(seq) {
            apply(connection, "temp", &left.tables)?;
        }
    }
    if newest > last {
        finish(connection, newest, found.len())?;
    }
    Ok(())
}

/// Records that everything up to an event is folded, with so many events `rows_recorded`.
fn finish(connection: &Connection, seq: i64, events: usize) -> rusqlite::Result<()> {
    let events = integer(events);
    connection
        .prepare_cached("UPDATE temp.row_fold SET seq = ?1, events = events + ?2")?
        .execute([seq, events])?;
    connection.prepare_cached("DELETE FROM temp.row_changes")?.execute([]).map(drop)
}

/// Returns the rows changed since the last fold, as they are now.
fn changes(connection: &Connection) -> rusqlite::Result<BTreeMap<String, TableChange>> {
    let mut found = BTreeMap::new();
    for table in &RECORDED_TABLES {
        let RecordedTable { name, .. } = table;
        let keys = format!("SELECT key FROM temp.row_changes WHERE name = '{name}'");
        let (key, values) = (table.key.join(", "), table.columns().join(", "));
        let wanted = format!("({key}) IN (SELECT {} FROM ({keys}))", table.values_of("key"));
        let rows = format!("SELECT json_array({values}) FROM temp.{name} WHERE {wanted} ORDER BY {key}");
        let removed = format!(
            "SELECT DISTINCT key FROM ({keys})
             WHERE ({}) NOT IN (SELECT {key} FROM temp.{name}) ORDER BY key",
            table.values_of("key")
        );
        let change = TableChange { rows: all(connection, &rows)?, removed: all(connection, &removed)? };
        if change != TableChange::default() {
            found.insert((*name).to_owned(), change);
        }
    }
    Ok(found)
}

/// Applies the changes of an event to the tables of a schema.
pub(crate) fn apply(
    connection: &Connection,
    schema: &str,
    tables: &BTreeMap<String, TableChange>,
) -> rusqlite::Result<()> {
    for table in &RECORDED_TABLES {
        let RecordedTable { name, key, .. } = table;
        let Some(TableChange { rows, removed }) = tables.get(*name) else {
            continue;
        };
        if !removed.is_empty() {
            let sql = format!(
                "DELETE FROM {schema}.{name} WHERE ({}) IN (SELECT {} FROM json_each(?1))",
                key.join(", "),
                table.values_of("value")
            );
            connection.prepare_cached(&sql)?.execute([JsonColumn(removed)])?;
        }
        if !rows.is_empty() {
            let columns = table.columns();
            let sql = format!(
                "INSERT OR REPLACE INTO {schema}.{name} ({}) SELECT {} FROM json_each(?1)",
                columns.join(", "),
                elements("value", columns.len())
            );
            connection.prepare_cached(&sql)?.execute([JsonColumn(rows)])?;
        }
    }
    Ok(())
}

impl RecordedTable {
    pub(crate) fn columns(&self) -> Vec<&'static str> {
        self.key.iter().chain(self.rest).copied().collect()
    }

    /// The values of the key in a JSON list.
    fn values_of(&self, list: &str) -> String {
        elements(list, self.key.len())
    }
}

/// The first elements of a JSON list.
pub(super) fn elements(list: &str, count: usize) -> String {
    (0..count).map(|at| format!("{list} ->> {at}")).collect::<Vec<String>>().join(", ")
}

fn all(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<Value>> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map([], |row| row.json(0))?.collect()
}

#[cfg(test)]
mod tests {
    use super::RECORDED_TABLES;
    use crate::db::migrate::pristine;

    #[test]
    fn every_column_of_the_tables_is_recorded() {
        let connection = pristine().unwrap();
        for table in &RECORDED_TABLES {
            let sql = "SELECT name FROM pragma_table_info(?1) ORDER BY cid";
            let mut columns = connection.prepare(sql).unwrap();
            let columns = columns.query_map([table.name], |row| row.get(0)).unwrap();
            let columns: Vec<String> = columns.map(Result::unwrap).collect();
            assert_eq!(table.columns(), columns);
            let sql = "SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk";
            let mut key = connection.prepare(sql).unwrap();
            let key = key.query_map([table.name], |row| row.get(0)).unwrap();
            let key: Vec<String> = key.map(Result::unwrap).collect();
            assert_eq!(table.key, key);
        }
    }
}
