//! The ends of runs by the log, for writers: they have no projections that are made from it.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, Params, Row};

use super::batch::NewRunRecord;
use super::chain::{LINKED, fault, run_of};
use super::column::JsonColumn;
use super::state_event::{self, KEYS};
use super::writer::WriteContext;
use super::{BrokenChain, StoreError};
use wf_base::name::RunId;
use wf_core::machine::{Event, EventKind};

/// True if all these runs have ended: each by its last event, or it was pruned, as only ended runs are.
/// A run that is not in the log has not ended.
pub(super) fn all_ended(writing: &WriteContext<'_>, runs: BTreeSet<RunId>) -> Result<bool, StoreError> {
    let (mut keys, mut sought) = (Vec::new(), BTreeSet::new());
    for run in runs {
        match key_by_table(writing, &run)? {
            Some(key) => keys.push(key),
            None => drop(sought.insert(run)),
        }
    }
    if !sought.is_empty() {
        let events = state_event::all(writing.connection).map_err(|error| writing.failed(&error))?;
        for pruned in events.iter().flat_map(|event| event.fact.pruned()) {
            sought.remove(&pruned.id);
        }
    }
    if !sought.is_empty() {
        let sql = format!("{KEYS} SELECT {LINKED} FROM keys JOIN events ON run = key AND run_seq = 0");
        let found = read(writing, &sql, [], |row| {
            let is_sought = run_at(row).is_some_and(|run| sought.contains(&run));
            is_sought.then(|| row.get(1)).transpose()
        })?;
        if found.len() < sought.len() {
            return Ok(false);
        }
        keys.extend::<Vec<i64>>(found);
    }
    for key in keys {
        if !ends_at_end(writing, key)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the key of a run. The table of runs says where to look; what is there must be that run.
fn key_by_table(writing: &WriteContext<'_>, run: &RunId) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT key FROM runs WHERE id = ?1";
    let query = writing.connection.prepare_cached(sql);
    let row = query.and_then(|mut query| query.query_row([run.as_str()], |row| row.get(0)).optional());
    let Some(key): Option<i64> = row.map_err(|error| writing.failed(&error))? else {
        return Ok(None);
    };
    let sql = format!("SELECT {LINKED} FROM events WHERE run = ?1 AND run_seq = 0");
    let found = read(writing, &sql, [key], |row| Ok((run_at(row).as_ref() == Some(run)).then_some(key)))?;
    Ok(found.first().copied())
}

/// Returns the run that a first event records.
fn run_at(row: &Row<'_>) -> Option<RunId> {
    let recorded: JsonColumn<NewRunRecord> = row.get(7).ok()?;
    Some(recorded.0.run)
}

/// True if the last event of a run is its end.
fn ends_at_end(writing: &WriteContext<'_>, key: i64) -> Result<bool, StoreError> {
    let sql = format!("SELECT {LINKED} FROM events WHERE run = ?1 ORDER BY run_seq DESC LIMIT 1");
    let ends = read(writing, &sql, [key], |row| {
        let last: Option<JsonColumn<Event>> = row.get(7).ok();
        Ok(last.filter(|last| matches!(last.0.fact, EventKind::RunEnded { .. })))
    })?;
    Ok(!ends.is_empty())
}

/// Reads events, each of which must be as it was written.
fn read<T>(
    writing: &WriteContext<'_>,
    sql: &str,
    values: impl Params,
    mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<Option<T>>,
) -> Result<Vec<T>, StoreError> {
    let connection = writing.connection;
    let all = || {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query(values)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            if let Some(fault) = fault(row)? {
                let (seq, run): (i64, i64) = (row.get(0)?, row.get(1)?);
                return Ok(Err(BrokenChain {
                    seq: seq.unsigned_abs(),
                    run: run_of(connection, run)?,
                    fault,
                }));
            }
            found.extend(take(row)?);
        }
        Ok(Ok(found))
    };
    let path = writing.writer.path.clone();
    all().map_err(|error| writing.failed(&error))?.map_err(|broken| StoreError::Broken { path, broken })
}
