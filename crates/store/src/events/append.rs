use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::db::fence;
use crate::db::writer::WriteContext;
use crate::error::StoreError;
use crate::files::settings::StoreDurability;
use crate::lease::{locks, owners};
use crate::log::run_record::NewRunRecord;
use crate::log::state_event::{self, StateEvent};
use crate::log::tail::{FORM, LogPosition, LogTail, RunPosition};
use crate::projections::{project, row_log, tree};
use crate::tables::batch::{AppendResult, EventBatch, NewRun};
use crate::tables::claim::{self, ReconciliationClaim};
use crate::tables::{answers, sessions, suggestions, undo};
use wf_base::digest::Sha256Digest;
use wf_base::name::RunId;
use wf_core::machine::{EventKind, RunOffers};

/// Adds a batch to the log and to the projections.
pub(crate) fn append(writing: &WriteContext<'_>, batch: EventBatch) -> Result<AppendResult, StoreError> {
    let failed = |error| writing.failed(&error);
    let connection = writing.connection;
    if let Some(refusal) = owners::refusal(connection, &batch.token).map_err(failed)? {
        return Err(refusal);
    }
    let found = find(connection, &batch.run).map_err(failed)?;
    if let (Some(new), None) = (&batch.new, &found) {
        admit(writing, &batch.run, new)?;
    }
    let claim = batch.new.as_ref().and_then(|new| new.claim.as_ref());
    let is_by_backend = claim.is_some_and(ReconciliationClaim::is_by_backend);
    // The claim is an event of its own, before those of the run.
    let mut tail = LogTail::read(connection).map_err(failed)?;
    let mut rows = Vec::with_capacity(batch.events.len() + 1);
    let mut place = match (batch.new, found) {
        (Some(new), None) => {
            let place = record(writing, &mut tail, &batch.run, new)?;
            rows.push(LogPosition::from(&tail));
            place
        }
        (None, Some(place)) => place,
        (Some(_), Some(_)) => return Err(StoreError::KnownRun(batch.run)),
        (None, None) => return Err(StoreError::UnknownRun(batch.run)),
    };
    let found = u64::try_from(place.n).unwrap_or(0);
    if batch.after.is_some_and(|after| after != found) {
        return Err(StoreError::Gap(batch.run));
    }
    for event in &batch.events {
        place.n += 1;
        if let EventKind::RunApproved(approved) = &event.fact
            && approved.execution > 0
        {
            answers::check_approval_unused(writing, approved, is_by_backend)?;
        }
        let parted = tree::split_tree(event);
        if let Some((_, digest, list)) = &parted {
            keep_text(connection, digest, list).map_err(failed)?;
        }
        let stored = parted.as_ref().map_or(event, |(stored, ..)| stored);
        push(writing, &mut tail, place, stored)?;
        rows.push(LogPosition::from(&tail));
        project::event(connection, place, stored).map_err(failed)?;
        // No event follows that would need the fence; one write is saved.
        if let EventKind::RunEnded { .. } = event.fact
            && batch.run == batch.token.run
        {
            locks::forget_waits(connection, &batch.run).map_err(failed)?;
            fence::give_back(writing, &batch.token)?;
        }
    }
    writing.tail.set(Some(tail));
    if let Some(event) = batch.events.last()
        && let EventKind::RunEnded { offers: RunOffers { suggests: Some(offer), .. }, .. } = &event.fact
    {
        suggestions::keep(writing, &batch.run, offer, event.at)?;
    }
    Ok(AppendResult { last: u64::try_from(place.n).unwrap_or(0), rows })
}

/// Refuses a run that may not begin, and records what it is begun for.
fn admit(writing: &WriteContext<'_>, run: &RunId, new: &NewRun) -> Result<(), StoreError> {
    row_log::limit_fold(writing, new.created)?;
    // A nested run is part of a step under way, which may end.
    if let (Some(session), None) = (&new.session, &new.parent) {
        sessions::require_active(writing, session)?;
    }
    undo::require_first(writing, new)?;
    suggestions::accept(writing, run, new)?;
    let Some(claim) = &new.claim else {
        return Ok(());
    };
    row_log::change(writing, new.created, || claim::claim(writing, run, claim, new.created))
}

/// Adds an event that belongs to no run, and applies it to the projections.
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

/// Returns the position of a run's last event.
fn find(connection: &Connection, run: &RunId) -> rusqlite::Result<Option<RunPosition>> {
    connection
        .prepare_cached(
            "SELECT key, (SELECT max(run_seq) FROM events WHERE run = key) FROM runs WHERE id = ?1",
        )?
        .query_row([run.as_str()], |row| Ok(RunPosition { run: row.get(0)?, n: row.get(1)?, v: FORM }))
        .optional()
}

/// Adds the row that records a run.
fn record(
    writing: &WriteContext<'_>,
    tail: &mut LogTail,
    run: &RunId,
    new: NewRun,
) -> Result<RunPosition, StoreError> {
    let mut sources = Vec::with_capacity(new.sources.len());
    for (path, text) in new.sources {
        let digest = Sha256Digest::of_bytes(text.as_bytes());
        keep_text(writing.connection, &digest, &text).map_err(|error| writing.failed(&error))?;
        sources.push((path, digest));
    }
    let recorded = NewRunRecord {
        at: new.created,
        run: run.clone(),
        plan: new.plan,
        path: new.path,
        params: new.params,
        parent: new.parent,
        retry_of: new.retry_of,
        session: new.session,
        sources,
        config: with_durability(new.config, writing.writer.marker.durability()),
    };
    let place = RunPosition { run: tail.seq + 1, n: 0, v: FORM };
    push(writing, tail, place, &recorded)?;
    project::run(writing.connection, place, &recorded).map_err(|error| writing.failed(&error))?;
    Ok(place)
}

/// Adds the durability to a configuration; only the store knows it.
fn with_durability(config: Value, durability: StoreDurability) -> Value {
    let mut config = match config {
        Value::Object(config) => config,
        _ => Map::new(),
    };
    config.insert("durability".into(), durability.as_str().into());
    Value::Object(config)
}

/// Keeps a text under its digest.
pub(crate) fn keep_text(connection: &Connection, digest: &Sha256Digest, text: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR IGNORE INTO source_texts (digest, text) VALUES (?1, ?2)")?
        .execute((digest.bytes(), text))
        .map(drop)
}

fn push(
    writing: &WriteContext<'_>,
    tail: &mut LogTail,
    place: RunPosition,
    body: &impl Serialize,
) -> Result<(), StoreError> {
    let broken = |cause: String| StoreError::Sqlite { path: writing.writer.path.clone(), cause };
    let mut buffer = writing.buffer.borrow_mut();
    buffer.clear();
    serde_json::to_writer(&mut *buffer, body).map_err(|error| broken(error.to_string()))?;
    let text = str::from_utf8(&buffer).map_err(|error| broken(error.to_string()))?;
    tail.push(writing.connection, place, text).map_err(|error| writing.failed(&error))
}
