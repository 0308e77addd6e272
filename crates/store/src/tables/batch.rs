use rusqlite::{Connection, Row};
use serde_json::{Map, Value};

use crate::{
    db::{fence, writer::WriteContext},
    error::{QueryResult, StoreError},
    events::run_events::{keep_text, push},
    files::folder::StoreDurability,
    lease::{locks, run_lease, run_lease::FencingToken},
    log::{
        chain::NewRunRecord,
        tail::{FORM, LogPosition, LogTail, RunPosition},
    },
    projections::{from_log, project, row_log},
    query,
    tables::{answers, claim, claim::ReconciliationClaim, sessions, suggestions, undo},
};
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId, SessionName},
    time::Moment,
};
use wf_core::machine::{Event, EventKind, RunOffers};
use wf_model::JsonObject;

/// A batch of events that become durable together, or not at all.
#[derive(Clone, Debug, PartialEq)]
pub struct EventBatch {
    /// The run they belong to.
    pub run: RunId,
    /// The token they are written under: that of the run, or of the run it is nested in.
    pub token: FencingToken,
    /// The number of events of the run that must precede the batch; with any other number it is refused, so a
    /// batch never hides one that could not be written. `None`: any number.
    pub after: Option<u64>,
    /// The run itself, with its first events.
    pub new: Option<NewRun>,
    /// The events, in order.
    pub events: Vec<Event>,
}

/// A run, as recorded before its first event.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRun {
    pub plan: PlanId,
    /// The path of its spec, relative to the workspace.
    pub path: String,
    /// Its resolved parameters.
    pub params: JsonObject,
    /// The run and the attempt (as shown, `step[item]#n`) it is nested in.
    pub parent: Option<(RunId, String)>,
    pub retry_of: Option<RunId>,
    /// The session it belongs to; it must be active when an outermost run begins.
    pub session: Option<SessionName>,
    /// The texts of the run: path and content, its own spec first.
    pub sources: Vec<(String, String)>,
    /// The time it was recorded.
    pub created: Moment,
    /// The configuration of the run, as the engine writes it. The store adds `durability`.
    pub config: Value,
    /// The part of a goal it is started for, if any.
    pub claim: Option<ReconciliationClaim>,
}

/// The result of appending a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendResult {
    /// The number of the last event of the run.
    pub last: u64,
    /// The position of each event in the log, in order; the row recording the run comes first, if the batch
    /// had it.
    pub rows: Vec<LogPosition>,
}

/// Adds a batch to the log and to the projections.
pub(crate) fn append(writing: &WriteContext<'_>, batch: EventBatch) -> QueryResult<AppendResult> {
    let connection = writing.connection;
    if let Some(refusal) = run_lease::refusal(connection, &batch.token)? {
        return Err(refusal.into());
    }
    let found = find(connection, &batch.run)?;
    if let (Some(new), None) = (&batch.new, &found) {
        admit(writing, &batch.run, new)?;
    }
    let claim = batch.new.as_ref().and_then(|new| new.claim.as_ref());
    let is_by_backend = claim.is_some_and(ReconciliationClaim::is_by_backend);
    // The claim is an event of its own, before those of the run.
    let mut tail = LogTail::read(connection)?;
    let mut rows = Vec::with_capacity(batch.events.len() + 1);
    let mut place = match (batch.new, found) {
        (Some(new), None) => {
            let place = record(writing, &mut tail, &batch.run, new)?;
            rows.push(LogPosition::from(&tail));
            place
        }
        (None, Some(place)) => place,
        (Some(_), Some(_)) => return Err(StoreError::KnownRun(batch.run).into()),
        (None, None) => return Err(StoreError::UnknownRun(batch.run).into()),
    };
    let found = u64::try_from(place.n).unwrap_or(0);
    if batch.after.is_some_and(|after| after != found) {
        return Err(StoreError::Gap(batch.run).into());
    }
    for event in &batch.events {
        place.n += 1;
        if let EventKind::RunApproved(approved) = &event.fact
            && approved.execution > 0
        {
            answers::check_approval_unused(writing, approved, is_by_backend)?;
        }
        let parted = from_log::split_tree(event);
        if let Some((_, digest, list)) = &parted {
            keep_text(connection, digest, list)?;
        }
        let stored = parted.as_ref().map_or(event, |(stored, ..)| stored);
        push(writing, &mut tail, place, stored)?;
        rows.push(LogPosition::from(&tail));
        project::event(connection, place, stored)?;
        // No event follows that would need the fence; one write is saved.
        if let EventKind::RunEnded { .. } = event.fact
            && batch.run == batch.token.run
        {
            locks::forget_waits(connection, &batch.run)?;
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
fn admit(writing: &WriteContext<'_>, run: &RunId, new: &NewRun) -> QueryResult<()> {
    row_log::limit_fold(writing, new.created)?;
    // A nested run is part of a step under way, which may end.
    if let (Some(session), None) = (&new.session, &new.parent) {
        sessions::require_active(writing.connection, session)?;
    }
    undo::require_first(writing, new)?;
    suggestions::accept(writing, run, new)?;
    let Some(claim) = &new.claim else {
        return Ok(());
    };
    row_log::change(writing, new.created, || claim::claim(writing, run, claim, new.created))
}

/// Returns the position of a run's last event.
fn find(connection: &Connection, run: &RunId) -> rusqlite::Result<Option<RunPosition>> {
    let sql = "SELECT key, (SELECT max(run_seq) FROM events WHERE run = key) FROM runs WHERE id = ?1";
    let position = |row: &Row<'_>| Ok(RunPosition { run: row.get(0)?, n: row.get(1)?, v: FORM });
    query::first(connection, sql, [run.as_str()], position)
}

/// Adds the row recording a run.
fn record(
    writing: &WriteContext<'_>,
    tail: &mut LogTail,
    run: &RunId,
    new: NewRun,
) -> QueryResult<RunPosition> {
    let mut sources = Vec::with_capacity(new.sources.len());
    for (path, text) in new.sources {
        let digest = Sha256Digest::of_bytes(text.as_bytes());
        keep_text(writing.connection, &digest, &text)?;
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
    project::run(writing.connection, place, &recorded)?;
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
