use rusqlite::Connection;
use serde::Serialize;

use crate::db::writer::WriteContext;
use crate::error::StoreError;
use crate::log::state_event::{self, StateEvent};
use crate::log::tail::{LogPosition, LogTail, RunPosition};
use wf_base::digest::Sha256Digest;

/// Adds an event belonging to no run, and applies it to the projections.
pub(crate) fn add_state_event(
    writing: &WriteContext<'_>,
    event: &StateEvent,
) -> Result<LogPosition, StoreError> {
    let failed = |error| writing.failed(&error);
    let mut tail = LogTail::read(writing.connection).map_err(failed)?;
    let place = RunPosition::of_state(&tail);
    push(writing, &mut tail, place, event)?;
    state_event::show(writing.connection, &event.fact).map_err(failed)?;
    writing.tail.set(Some(tail));
    Ok(LogPosition::from(&tail))
}

/// Keeps a text under its digest.
pub(crate) fn keep_text(connection: &Connection, digest: &Sha256Digest, text: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR IGNORE INTO source_texts (digest, text) VALUES (?1, ?2)")?
        .execute((digest.bytes(), text))
        .map(drop)
}

/// Adds a row to the log.
pub(crate) fn push(
    writing: &WriteContext<'_>,
    tail: &mut LogTail,
    position: RunPosition,
    body: &impl Serialize,
) -> Result<(), StoreError> {
    let broken = |cause: String| StoreError::Sqlite { path: writing.writer.path.clone(), cause };
    let mut buffer = writing.buffer.borrow_mut();
    buffer.clear();
    serde_json::to_writer(&mut *buffer, body).map_err(|error| broken(error.to_string()))?;
    let text = str::from_utf8(&buffer).map_err(|error| broken(error.to_string()))?;
    tail.push(writing.connection, position, text).map_err(|error| writing.failed(&error))
}
