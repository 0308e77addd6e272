//! The events of runs, by their numbers.

use rusqlite::{Connection, Row};
use serde::Serialize;

use crate::{
    column::JsonColumn,
    db::{reader::StoreReader, writer::WriteContext},
    error::StoreError,
    log::{
        chain::{BrokenChain, COLUMNS, ChainFault, LINKED, broken_at, fault_behind},
        state_event,
        state_event::{GoneBodiesOnDemand, StateEvent},
        tail::{LogPosition, LogTail, RunPosition},
    },
};
use wf_base::{digest::Sha256Digest, name::RunId};
use wf_core::machine::Event;

/// The events of a run behind a number, up to another one.
#[derive(Clone, Copy)]
pub(crate) struct EventRange {
    pub(crate) after: i64,
    pub(crate) last: i64,
}

impl EventRange {
    /// Returns all events behind a number; -1: also the one recording the run.
    pub(crate) fn after(after: i64) -> Self {
        Self { after, last: i64::MAX }
    }

    pub(crate) fn one(number: i64) -> Self {
        Self { after: number.saturating_sub(1), last: number }
    }
}

impl StoreReader {
    /// Returns the events of a run after a number (0: all), with their numbers.
    pub fn events(&self, run: &RunId, after: u64) -> Result<Vec<(u64, Event)>, StoreError> {
        let range = EventRange::after(i64::try_from(after).unwrap_or(i64::MAX));
        let mut events = self.read_events(run, range, |row| {
            let JsonColumn(event): JsonColumn<Event> = row.get(7)?;
            Ok(Some((row.get::<_, i64>(2)?.unsigned_abs(), event)))
        })?;
        self.restore_trees(events.iter_mut().map(|(_, event)| event))?;
        Ok(events)
    }

    /// Returns the events of a run of certain kinds.
    pub fn facts(&self, run: &RunId, kinds: &[&str]) -> Result<Vec<Event>, StoreError> {
        let mut events = self.read_events(run, EventRange::after(0), |row| {
            let kind = row.get_ref("kind")?.as_str_or_null()?;
            let is_wanted = kind.is_some_and(|kind| kinds.contains(&kind));
            is_wanted.then(|| row.get(7).map(|JsonColumn(event)| event)).transpose()
        })?;
        self.restore_trees(&mut events)?;
        Ok(events)
    }

    /// Reads events of a run: rows of [`COLUMNS`], with `kind` and `at`.
    ///
    /// A reader from the log compares each event in the statement reading it. What an earlier statement
    /// compared, that of the fold, may have been replaced since.
    pub(crate) fn read_events<T>(
        &self,
        run: &RunId,
        range: EventRange,
        mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<Option<T>>,
    ) -> Result<Vec<T>, StoreError> {
        self.fold(run)?;
        let is_compared = self.projections.is_some();
        let columns = if is_compared { LINKED } else { COLUMNS };
        let sql = format!(
            "SELECT {columns}, kind, at FROM events
             WHERE run = (SELECT key FROM runs WHERE id = ?1) AND run_seq > ?2 AND run_seq <= ?3
             ORDER BY run_seq"
        );
        let mut all = || {
            let connection = self.connection();
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query((run.as_str(), range.after, range.last))?;
            let (mut found, mut before) = (Vec::new(), range.after);
            let mut gone = GoneBodiesOnDemand::default();
            while let Some(row) = rows.next()? {
                if is_compared {
                    if let Some(fault) = fault_behind(connection, row, before, &mut gone)? {
                        return Ok(Err(self.broken(broken_at(connection, row, fault)?)));
                    }
                    // The run was pruned since it was folded.
                    if row.get_ref(7)?.as_str_or_null()?.is_none() {
                        return Ok(Err(StoreError::UnknownRun(run.clone())));
                    }
                    before = row.get(2)?;
                }
                found.extend(take(row)?);
            }
            drop(rows);
            Ok(match self.missing_behind(run, before, range.last)? {
                Some(missing) => Err(self.broken(missing)),
                None => Ok(found),
            })
        };
        all().map_err(|error| self.failed(&error))?
    }

    /// Returns the event of a run that should follow one of a number, and was folded earlier.
    fn missing_behind(&self, run: &RunId, before: i64, last: i64) -> rusqlite::Result<Option<BrokenChain>> {
        let Some(fold) = &self.projections else {
            return Ok(None);
        };
        if fold.last(self.connection(), run)?.is_none_or(|folded| before >= folded.min(last)) {
            return Ok(None);
        }
        let sql = "SELECT coalesce(max(seq), 0) FROM events
                   WHERE run = (SELECT key FROM runs WHERE id = ?1) AND run_seq <= ?2";
        let mut statement = self.connection().prepare_cached(sql)?;
        let seq: i64 = statement.query_row((run.as_str(), before), |row| row.get(0))?;
        let (seq, run) = (seq.unsigned_abs() + 1, Some(run.clone()));
        Ok(Some(BrokenChain { seq, run, fault: ChainFault::Missing }))
    }

    /// Makes an error of an event differing from what was written.
    pub(crate) fn broken(&self, broken: BrokenChain) -> StoreError {
        StoreError::Broken { path: self.folder().database(), broken }
    }
}

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
