use rusqlite::{Connection, Row};
use serde::Deserialize;

use super::batch::Recorded;
use super::chain::COLUMNS;
use super::column::Json;
use super::log::Position;
use super::project;
use super::state_event::{self, StateEvent};
use crate::machine::Event;

/// The tables that the log says everything about.
pub(super) const PROJECTIONS: [&str; 6] = [
    "runs",
    "sources",
    "steps",
    "attempts",
    "checks",
    "artifacts",
];

/// The projections that name a run by its key, and the uses of approvals, which name it by its id.
pub(super) const FOLDED: [&str; 7] = {
    let [runs, sources, steps, attempts, checks, artifacts] = PROJECTIONS;
    [
        runs, sources, steps, attempts, checks, artifacts, "consumed",
    ]
};

/// What the log tells of the state as a whole.
pub(super) const OF_STATE: [&str; 1] = ["withdrawn"];

/// Makes the projections anew from the log. Forgotten runs stay forgotten.
pub(super) fn rebuild(connection: &Connection) -> rusqlite::Result<()> {
    for table in PROJECTIONS {
        connection.execute(&format!("DELETE FROM {table}"), [])?;
    }
    // Uses by connections are in no event.
    let uses = "DELETE FROM consumed WHERE run NOT LIKE 'connection:%'";
    connection.execute(uses, [])?;
    let sql = format!("SELECT {COLUMNS} FROM events WHERE body IS NOT NULL ORDER BY seq");
    let mut events = connection.prepare(&sql)?;
    let mut rows = events.query([])?;
    while let Some(row) = rows.next()? {
        show(connection, row)?;
    }
    Ok(())
}

/// Shows an event in the projections: a row of [`COLUMNS`].
pub(super) fn show(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<()> {
    let position = Position {
        run: row.get(1)?,
        n: row.get(2)?,
        v: row.get(3)?,
    };
    if position.n > 0 {
        let event: Json<Event> = row.get(7)?;
        return project::event(connection, position, &event.0);
    }
    match row.get(7)? {
        Json(First::State(event)) => state_event::show(connection, &event.fact),
        Json(First::Run(recorded)) => project::run(connection, position, &recorded),
    }
}

/// What stands under number 0.
#[derive(Deserialize)]
#[serde(untagged)]
enum First {
    State(StateEvent),
    Run(Box<Recorded>),
}
