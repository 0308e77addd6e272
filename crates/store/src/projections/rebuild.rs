use rusqlite::{Connection, Row};
use serde::Deserialize;

use crate::{
    column::JsonColumn,
    error::QueryResult,
    log::{
        chain::{BrokenChain, COLUMNS, ChainFault, ChainWalk, NewRunRecord},
        state_event,
        state_event::{GoneBodiesOnDemand, StateEvent, is_row_change},
        tail::RunPosition,
    },
    projections::{cache, project, row_log, row_log::RECORDED_TABLES},
};
use wf_core::machine::Event;

/// The tables that can be rebuilt from the log alone.
pub(crate) const PROJECTIONS: [&str; 6] = ["runs", "run_sources", "steps", "attempts", "checks", "artifacts"];

/// The projections naming a run by its key, and the uses of approvals, which name it by its id.
pub(super) const FOLDED: [&str; 7] = {
    let [runs, sources, steps, attempts, checks, artifacts] = PROJECTIONS;
    [runs, sources, steps, attempts, checks, artifacts, "approval_uses"]
};

/// The projections about the state as a whole.
pub(super) const OF_STATE: [&str; 1] = ["revoked_approvals"];

/// Rebuilds the projections from the log, and removes the cached results it does not record. Pruned runs stay
/// pruned.
///
/// The whole log is verified on the way; the caller rolls back if it returns a fault.
pub(crate) fn rebuild(connection: &Connection) -> QueryResult<()> {
    for table in FOLDED.into_iter().chain(OF_STATE) {
        connection.execute(&format!("DELETE FROM {table}"), [])?;
    }
    for table in &RECORDED_TABLES {
        connection.execute(&format!("DELETE FROM main.{}", table.name), [])?;
    }
    let mut events = connection.prepare(&format!("SELECT {COLUMNS} FROM events ORDER BY seq"))?;
    let mut rows = events.query([])?;
    let (mut walk, mut gone) = (ChainWalk::default(), GoneBodiesOnDemand::default());
    while let Some(row) = rows.next()? {
        let (seq, run): (i64, i64) = (row.get(0)?, row.get(1)?);
        let bodiless = row.get_ref(7)?.as_str_or_null()?.is_none();
        let fault = match walk.step(row)? {
            None if bodiless && !gone.get(connection)?.keys.contains(&run) => Some(ChainFault::Bodiless),
            found => found,
        };
        if let Some(fault) = fault {
            return Err(BrokenChain { seq: seq.unsigned_abs(), run: None, fault }.into());
        }
        if bodiless {
            if let Some(left) = gone.get(connection)?.rows.get(&seq) {
                row_log::apply(connection, "main", &left.tables)?;
            }
            continue;
        }
        apply_event(connection, row)?;
        if row.get_ref(7)?.as_str().is_ok_and(is_row_change) {
            let JsonColumn(event): JsonColumn<StateEvent> = row.get(7)?;
            row_log::apply(connection, "main", event.fact.tables())?;
        }
    }
    for key in cache::unrecorded(connection)? {
        connection.prepare_cached("DELETE FROM cache WHERE key = ?1")?.execute([key])?;
    }
    Ok(())
}

/// Applies an event to the projections, except the recorded tables: a row of [`COLUMNS`].
pub(super) fn apply_event(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<()> {
    let position = RunPosition { run: row.get(1)?, n: row.get(2)?, v: row.get(3)? };
    if position.n > 0 {
        let event: JsonColumn<Event> = row.get(7)?;
        return project::event(connection, position, &event.0);
    }
    if row.get_ref(7)?.as_str().is_ok_and(is_row_change) {
        return Ok(());
    }
    match row.get(7)? {
        JsonColumn(FirstLogRow::State(event)) => state_event::show(connection, &event.fact),
        JsonColumn(FirstLogRow::Run(recorded)) => project::run(connection, position, &recorded),
    }
}

/// The content of number 0 of a run.
#[derive(Deserialize)]
#[serde(untagged)]
enum FirstLogRow {
    State(StateEvent),
    Run(Box<NewRunRecord>),
}
