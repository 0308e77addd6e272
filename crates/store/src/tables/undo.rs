//! Runs undoing another one: the configuration of such a run names that one.

use rusqlite::{Connection, Row};
use serde_json::Value;

use crate::{column::WordColumn, db::writer::WriteContext, error::StoreError, tables::batch::NewRun};
use wf_base::name::RunId;
use wf_core::undo::{UndoRun, refuse_second};

/// The key of the configuration of a run naming the run it undoes.
pub const UNDO_OF: &str = "undo_of";

const UNDOS: &str = "SELECT id, outcome FROM runs WHERE config ->> '$.undo_of' = ?1 ORDER BY key";

fn run(row: &Row<'_>) -> rusqlite::Result<UndoRun> {
    let outcome: Option<WordColumn<_>> = row.get(1)?;
    Ok(UndoRun { run: RunId::from_stored(row.get::<_, String>(0)?), outcome: outcome.map(|word| word.0) })
}

pub(crate) fn of_run(connection: &Connection, undone: &str) -> rusqlite::Result<Vec<UndoRun>> {
    connection.prepare_cached(UNDOS)?.query_map([undone], run)?.collect()
}

/// Refuses a new run undoing another one if a run has undone that, or is about to.
pub(super) fn require_first(writing: &WriteContext<'_>, new: &NewRun) -> Result<(), StoreError> {
    let Some(undone) = new.config.get(UNDO_OF).and_then(Value::as_str) else {
        return Ok(());
    };
    let others = of_run(writing.connection, undone).map_err(|error| writing.failed(&error))?;
    refuse_second(&others).map_err(|refusal| StoreError::Undo(RunId::from_stored(undone.to_owned()), refusal))
}
