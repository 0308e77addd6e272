use rusqlite::Connection;

use super::batch::Recorded;
use super::column::Json;
use super::log::Position;
use super::project;
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

/// Makes the projections anew from the log. Forgotten runs stay forgotten.
pub(super) fn rebuild(connection: &Connection) -> rusqlite::Result<()> {
    for table in PROJECTIONS {
        connection.execute(&format!("DELETE FROM {table}"), [])?;
    }
    let mut events = connection
        .prepare("SELECT run, n, v, body FROM events WHERE body IS NOT NULL ORDER BY seq")?;
    let mut rows = events.query([])?;
    while let Some(row) = rows.next()? {
        let position = Position {
            run: row.get(0)?,
            n: row.get(1)?,
            v: row.get(2)?,
        };
        if position.n == 0 {
            let recorded: Json<Recorded> = row.get(3)?;
            project::run(connection, position, &recorded.0)?;
        } else {
            let event: Json<Event> = row.get(3)?;
            project::event(connection, position, &event.0)?;
        }
    }
    Ok(())
}
