//! The events of runs, by their numbers.

use rusqlite::{Connection, Row};
use serde::Serialize;

use crate::{
    column::{JsonColumn, RowColumns, integer},
    db::{reader::StoreReader, writer::WriteContext},
    error::{QueryResult, StoreError},
    log::{
        chain::{BrokenChain, COLUMNS, ChainFault, LINKED, broken_at, fault_behind},
        state_event,
        state_event::{GoneBodiesOnDemand, StateEvent},
        tail::{LogPosition, LogTail, RunPosition},
    },
};
use wf_base::{digest::Sha256Digest, name::RunId};
use wf_core::machine::{Event, EventKind, RunOutcome, Standing};

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

/// The condition of the index `events_apart`, as the schema has it: SQLite uses a partial index only for its own condition.
const IS_APART: &str = "(kind NOT IN ('attempt_started', 'attempt_ended', 'step_ended', 'check_completed', \
     'checks_passed', 'evidence_taken') \
     OR body -> '$.usage' IS NOT NULL OR body -> '$.verdict.judgement' IS NOT NULL)";

/// The events of runs.
#[derive(Clone, Copy, Debug)]
pub struct EventTable<S>(pub(crate) S);

impl EventTable<&StoreReader> {
    /// Returns the events of a run after a number (0: all), with their numbers.
    pub fn of_run(self, run: &RunId, after: u64) -> Result<Vec<(u64, Event)>, StoreError> {
        let range = EventRange::after(integer(after));
        let mut events = self.read(run, range, |row| {
            let JsonColumn(event): JsonColumn<Event> = row.get(7)?;
            Ok(Some((row.get::<_, i64>(2)?.unsigned_abs(), event)))
        })?;
        self.0.restore_trees(events.iter_mut().map(|(_, event)| event))?;
        Ok(events)
    }

    /// Returns the events of a run of certain kinds.
    pub fn of_kinds(self, run: &RunId, kinds: &[&str]) -> Result<Vec<Event>, StoreError> {
        let mut events = self.read(run, EventRange::after(0), |row| {
            let kind = row.get_ref("kind")?.as_str_or_null()?;
            let is_wanted = kind.is_some_and(|kind| kinds.contains(&kind));
            is_wanted.then(|| row.get(7).map(|JsonColumn(event)| event)).transpose()
        })?;
        self.0.restore_trees(&mut events)?;
        Ok(events)
    }

    /// Returns the events of a run of certain kinds, in order, as far as they are read without its tasks: the
    /// beginnings and ends of attempts, steps and checks only where something was used a ledger counts.
    pub fn apart(self, run: &RunId, kinds: &[&str]) -> Result<Vec<Event>, StoreError> {
        if self.0.projections.is_some() {
            // Such a reader compares every event of the run.
            return Ok(self
                .of_kinds(run, kinds)?
                .into_iter()
                .filter(|event| is_apart(&event.fact))
                .collect());
        }
        let sql = format!(
            "SELECT body FROM events INDEXED BY events_apart
             WHERE run = (SELECT key FROM runs WHERE id = ?1) AND {IS_APART}
                 AND kind IN (SELECT value FROM json_each(?2)) ORDER BY run_seq"
        );
        let mut events: Vec<Event> = self
            .0
            .all(&sql, (run.as_str(), JsonColumn(kinds)), |row| row.get(0).map(|JsonColumn(event)| event))?;
        self.0.restore_trees(&mut events)?;
        Ok(events)
    }

    /// Returns how a run ended by the log; `None`: it has no end.
    pub(crate) fn end_of_run(self, run: &RunId) -> Result<Option<(RunOutcome, Standing)>, StoreError> {
        let sql = format!(
            "SELECT body ->> '$.outcome', body ->> '$.standing' FROM events INDEXED BY events_apart
             WHERE run = (SELECT key FROM runs WHERE id = ?1) AND {IS_APART} AND kind = 'run_ended'
             ORDER BY run_seq DESC LIMIT 1"
        );
        self.0.query_one(&sql, [run.as_str()], |row| Ok((row.word(0)?, row.word(1)?)))
    }

    /// Reads events of a run: rows of [`COLUMNS`], with `kind` and `at`.
    ///
    /// A reader from the log compares each event in the statement reading it. What an earlier statement
    /// compared, that of the fold, may have been replaced since.
    pub(crate) fn read<T>(
        self,
        run: &RunId,
        range: EventRange,
        mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<Option<T>>,
    ) -> Result<Vec<T>, StoreError> {
        self.0.fold(run)?;
        let is_compared = self.0.projections.is_some();
        let columns = if is_compared { LINKED } else { COLUMNS };
        let sql = format!(
            "SELECT {columns}, kind, at FROM events
             WHERE run = (SELECT key FROM runs WHERE id = ?1) AND run_seq > ?2 AND run_seq <= ?3
             ORDER BY run_seq"
        );
        let mut all = || -> QueryResult<Vec<T>> {
            let connection = self.0.connection();
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query((run.as_str(), range.after, range.last))?;
            let (mut found, mut before) = (Vec::new(), range.after);
            let mut gone = GoneBodiesOnDemand::default();
            while let Some(row) = rows.next()? {
                if is_compared {
                    if let Some(fault) = fault_behind(connection, row, before, &mut gone)? {
                        return Err(broken_at(connection, row, fault)?.into());
                    }
                    // The run was pruned since it was folded.
                    if row.get_ref(7)?.as_str_or_null()?.is_none() {
                        return Err(StoreError::UnknownRun(run.clone()).into());
                    }
                    before = row.get(2)?;
                }
                found.extend(take(row)?);
            }
            drop(rows);
            match self.missing_behind(run, before, range.last)? {
                Some(missing) => Err(missing.into()),
                None => Ok(found),
            }
        };
        all().map_err(|error| self.0.failed(error))
    }

    /// Returns the event of a run that should follow one of a number, and was folded earlier.
    fn missing_behind(self, run: &RunId, before: i64, last: i64) -> rusqlite::Result<Option<BrokenChain>> {
        let Some(fold) = &self.0.projections else {
            return Ok(None);
        };
        if fold.last(self.0.connection(), run)?.is_none_or(|folded| before >= folded.min(last)) {
            return Ok(None);
        }
        let sql = "SELECT coalesce(max(seq), 0) FROM events
                   WHERE run = (SELECT key FROM runs WHERE id = ?1) AND run_seq <= ?2";
        let mut statement = self.0.connection().prepare_cached(sql)?;
        let seq: i64 = statement.query_row((run.as_str(), before), |row| row.get(0))?;
        let (seq, run) = (seq.unsigned_abs() + 1, Some(run.clone()));
        Ok(Some(BrokenChain { seq, run, fault: ChainFault::Missing }))
    }
}

/// Returns what [`IS_APART`] says of an event.
fn is_apart(kind: &EventKind) -> bool {
    match kind {
        EventKind::AttemptStarted(_)
        | EventKind::StepEnded { .. }
        | EventKind::ChecksPassed { .. }
        | EventKind::EvidenceTaken { .. } => false,
        EventKind::AttemptEnded { usage, .. } => !usage.is_zero(),
        EventKind::CheckCompleted { verdict, .. } => verdict.judgement.is_some(),
        _ => true,
    }
}

/// Adds an event belonging to no run, and applies it to the projections.
pub(crate) fn add_state_event(writing: &WriteContext<'_>, event: &StateEvent) -> QueryResult<LogPosition> {
    let mut tail = LogTail::read(writing.connection)?;
    let place = RunPosition::of_state(&tail);
    push(writing, &mut tail, place, event)?;
    state_event::show(writing.connection, &event.fact)?;
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
) -> QueryResult<()> {
    let broken = |cause: String| StoreError::Sqlite { path: writing.writer.path.clone(), cause };
    let mut buffer = writing.buffer.borrow_mut();
    buffer.clear();
    serde_json::to_writer(&mut *buffer, body).map_err(|error| broken(error.to_string()))?;
    let text = str::from_utf8(&buffer).map_err(|error| broken(error.to_string()))?;
    Ok(tail.push(writing.connection, position, text)?)
}
