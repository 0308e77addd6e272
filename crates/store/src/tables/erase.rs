//! Forgetting for good: the texts of memory no megram and no note has any more leave the log.
//!
//! An event that carried one loses its body and keeps its hash, as the events of a pruned run do. A later
//! event, `rows_erased`, has what else it recorded, so the fold yields the same tables without it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use rusqlite::Connection;
use serde_json::Value;

use crate::{
    column::JsonColumn,
    db::{connect, writer::WriteContext},
    error::{QueryResult, StoreError},
    events::run_events,
    files::folder::{StateFolder, StoreDurability},
    log::state_event::{ErasedRows, KEYS, StateEvent, StateFact, TableChange},
    projections::row_log,
};
use wf_base::{digest::Sha256Digest, time::Moment};

/// The tables whose texts can be erased.
pub(super) const MEMORY: [&str; 2] = ["megrams", "notes"];

/// The time to wait for readers of an older state.
const READERS: Duration = Duration::from_secs(2);

/// An event carrying rows to be erased.
struct CarryingEvent {
    seq: i64,
    body: Sha256Digest,
    rows_left: Vec<ErasedRows>,
}

/// Erases the rows memory does not have any more from the events that recorded them.
pub(crate) fn erase(writing: &WriteContext<'_>, at: Moment) -> QueryResult<()> {
    // The snapshot before holds the rows, too.
    row_log::renew_snapshot(writing, at)?;
    let carrying = carrying(writing.connection)?;
    if carrying.is_empty() {
        return Ok(());
    }
    let mut events = Vec::new();
    for CarryingEvent { seq, body, rows_left } in carrying {
        let sql = "UPDATE events SET body = NULL, digest = ?2 WHERE seq = ?1";
        writing.connection.prepare_cached(sql)?.execute((seq, body.bytes()))?;
        events.extend(rows_left);
    }
    run_events::add_state_event(writing, &StateEvent { at, fact: StateFact::RowsErased { events } }).map(drop)
}

/// Returns the events with rows of memory it does not have any more.
fn carrying(connection: &Connection) -> rusqlite::Result<Vec<CarryingEvent>> {
    let mut known = BTreeMap::new();
    for table in MEMORY {
        let mut ids = connection.prepare_cached(&format!("SELECT id FROM temp.{table}"))?;
        let ids: BTreeSet<String> = ids.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        known.insert(table, ids);
    }
    let named = MEMORY.map(|table| format!("instr(body, '\"{table}\"')")).join(" OR ");
    let sql = format!(
        "{KEYS} SELECT seq, body FROM keys JOIN events ON run = key AND run_seq = 0
         WHERE ({named}) AND kind IN ('rows_recorded', 'rows_erased') ORDER BY seq"
    );
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        let JsonColumn(event): JsonColumn<StateEvent> = row.get(1)?;
        let own = ErasedRows { seq: seq.unsigned_abs(), at: event.at, tables: BTreeMap::new() };
        let mut rows_left = match event.fact {
            StateFact::RowsRecorded { tables, .. } => vec![ErasedRows { tables, ..own }],
            // What is left of other events moves on as a whole.
            StateFact::RowsErased { events } => std::iter::once(own).chain(events).collect(),
            _ => continue,
        };
        let mut carries = false;
        for one in &mut rows_left {
            for (table, ids) in &known {
                carries |= strip(&mut one.tables, table, ids);
            }
        }
        if carries {
            let body = Sha256Digest::of_bytes(row.get_ref(1)?.as_str()?.as_bytes());
            found.push(CarryingEvent { seq, body, rows_left });
        }
    }
    Ok(found)
}

/// Removes the rows of a table with other ids than these; returns true if there were any.
fn strip(tables: &mut BTreeMap<String, TableChange>, table: &str, known: &BTreeSet<String>) -> bool {
    let Some(change) = tables.get_mut(table) else {
        return false;
    };
    let before = change.rows.len();
    change.rows.retain(|row| row.get(0).and_then(Value::as_str).is_some_and(|id| known.contains(id)));
    let stripped = change.rows.len() < before;
    if *change == TableChange::default() {
        tables.remove(table);
    }
    stripped
}

/// Overwrites what is left of deleted rows in the files of a database; false if another process reads an older state.
pub(crate) fn scrub(folder: &StateFolder) -> Result<bool, StoreError> {
    let connection = connect::for_writing(folder, StoreDurability::Full)?;
    let scrubbed = || {
        // Also what is in memory between the rows of a page would be written.
        connection.pragma_update(None, "secure_delete", true)?;
        connection.execute_batch("VACUUM")?;
        connection.busy_timeout(READERS)?;
        let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
        connection.query_row(truncate, [], |row| row.get::<_, i64>(0))
    };
    let busy = scrubbed().map_err(|error| StoreError::sqlite(&folder.database(), &error))?;
    Ok(busy == 0)
}
