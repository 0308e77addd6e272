use rusqlite::{Connection, Row};
use serde::Deserialize;

use super::batch::NewRunRecord;
use super::chain::COLUMNS;
use super::column::JsonColumn;
use super::log::RunPosition;
use super::project;
use super::row_log::{self, RECORDED_TABLES};
use super::state_event::{self, StateEvent, is_row_change};
use wf_core::machine::Event;

/// The tables that can be rebuilt from the log alone.
pub(super) const PROJECTIONS: [&str; 6] = ["runs", "run_sources", "steps", "attempts", "checks", "artifacts"];

/// The projections that name a run by its key, and the uses of approvals, which name it by its id.
pub(super) const FOLDED: [&str; 7] = {
    let [runs, sources, steps, attempts, checks, artifacts] = PROJECTIONS;
    [runs, sources, steps, attempts, checks, artifacts, "approval_uses"]
};

/// The projections about the state as a whole.
pub(super) const OF_STATE: [&str; 1] = ["revoked_approvals"];

/// Rebuilds the projections from the log. Pruned runs stay pruned.
pub(super) fn rebuild(connection: &Connection) -> rusqlite::Result<()> {
    for table in PROJECTIONS {
        connection.execute(&format!("DELETE FROM {table}"), [])?;
    }
    for table in &RECORDED_TABLES {
        connection.execute(&format!("DELETE FROM main.{}", table.name), [])?;
    }
    connection.execute("DELETE FROM approval_uses", [])?;
    let sql = format!("SELECT {COLUMNS} FROM events WHERE body IS NOT NULL ORDER BY seq");
    let mut events = connection.prepare(&sql)?;
    let mut rows = events.query([])?;
    while let Some(row) = rows.next()? {
        apply_event(connection, row)?;
        if row.get_ref(7)?.as_str().is_ok_and(is_row_change) {
            let JsonColumn(event): JsonColumn<StateEvent> = row.get(7)?;
            row_log::apply(connection, "main", &event.fact)?;
        }
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
