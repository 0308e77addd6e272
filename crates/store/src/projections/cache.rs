//! Results for reuse, each of which the log records.

use rusqlite::{Connection, OptionalExtension, Row};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    column::{ItemColumn, JsonColumn, RowColumns, integer},
    db::{reader::StoreReader, store::Store, ticket::WriteTicket, writer::WriteContext},
    error::{QueryResult, StoreError},
    events::run_events,
    log::{
        chain::{LINKED, fault},
        state_event::{StateEvent, StateFact},
    },
    query,
};
use wf_base::{
    digest::Sha256Digest,
    name::{Name, PlanId, RunId},
    time::Moment,
};
use wf_core::machine::{Artifact, CachedFile, TaskId};
use wf_model::JsonObject;

/// A result that may be reused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheEntry {
    /// The digest of everything the result depends on.
    pub key: Sha256Digest,
    /// The run that produced the result.
    pub run: RunId,
    /// The task that produced the result.
    #[serde(rename = "place")]
    pub task_id: TaskId,
    /// The outputs of the task.
    pub outputs: JsonObject,
    /// The artifacts of the task.
    pub artifacts: Vec<Artifact>,
    /// The files the task made in the workspace.
    pub files: Vec<CachedFile>,
    /// The time it was stored.
    pub created: Moment,
}

/// A lookup in the cache, recorded so a later run can report the changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheLookup {
    /// The run that asked.
    pub run: RunId,
    /// The task that asked.
    #[serde(rename = "place")]
    pub task_id: TaskId,
    pub item_key: Option<String>,
    /// The key looked up.
    pub key: Sha256Digest,
    /// True if the key was found.
    pub hit: bool,
    /// The parts the key was computed from.
    pub parts: Value,
}

/// A cached result the log does not record as it is: its row was altered or added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log does not record it like this (see `wf doctor`)")]
pub struct UnrecordedResult;

/// Everything of a cached result, as one text.
const RESULT: &str = "json_array(key, run, step, item, outputs, artifacts, files, created)";

/// The tables `cache` and `cache_lookups`.
#[derive(Clone, Copy, Debug)]
pub struct CacheTable<S>(pub(crate) S);

impl CacheTable<&Store> {
    /// Stores a result for reuse, and records it in the log.
    pub fn put(self, entry: CacheEntry) -> WriteTicket<()> {
        self.0.job(move |writing| put(writing, &entry))
    }

    /// Records a cache lookup and its result.
    pub fn note_lookup(self, lookup: CacheLookup) -> WriteTicket<()> {
        self.0.job(move |writing| {
            writing
                .connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO cache_lookups (run, step, item_key, key, hit, parts)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute((
                    lookup.run.as_str(),
                    lookup.task_id.step.as_str(),
                    lookup.item_key.as_deref().unwrap_or_default(),
                    lookup.key.to_string(),
                    lookup.hit,
                    JsonColumn(&lookup.parts),
                ))?;
            Ok(())
        })
    }
}

impl CacheTable<&StoreReader> {
    /// Returns a cached result, if the log records it as it is.
    pub fn find(
        self,
        key: &Sha256Digest,
    ) -> Result<Option<Result<CacheEntry, UnrecordedResult>>, StoreError> {
        self.0.query(|connection| get(connection, &key.to_string()))
    }

    /// Returns the latest cached results of the steps with a name, as far as the log records them.
    pub fn latest(self, step: &Name, count: u32) -> Result<Vec<CacheEntry>, StoreError> {
        let keys = self.0.query(|connection| latest(connection, step.as_str(), count))?;
        let mut entries = Vec::new();
        for key in keys {
            entries.extend(self.0.query(|connection| get(connection, &key))?.and_then(Result::ok));
        }
        Ok(entries)
    }

    /// Returns the cache lookup of a task in a run: true for a hit, and the parts the key was computed from.
    pub fn lookup(
        self,
        run: &RunId,
        step: &Name,
        item_key: Option<&str>,
    ) -> Result<Option<(bool, Value)>, StoreError> {
        self.0.query_one(
            "SELECT hit, parts FROM cache_lookups WHERE run = ?1 AND step = ?2 AND item_key = ?3",
            (run.as_str(), step.as_str(), item_key.unwrap_or_default()),
            |row| Ok((row.get(0)?, row.json(1)?)),
        )
    }

    /// Returns the latest run of a plan, before a run, in which a task looked up the cache, and the
    /// parts of its key then.
    pub fn last_lookup(
        self,
        plan: &PlanId,
        step: &Name,
        item_key: Option<&str>,
        before: &RunId,
    ) -> Result<Option<(RunId, Value)>, StoreError> {
        self.0.query_one(
            "SELECT runs.id, parts FROM runs JOIN cache_lookups ON cache_lookups.run = runs.id
             WHERE plan = ?1 AND step = ?2 AND item_key = ?3
                 AND runs.key < (SELECT key FROM runs WHERE id = ?4)
             ORDER BY runs.key DESC LIMIT 1",
            (plan.as_str(), step.as_str(), item_key.unwrap_or_default(), before.as_str()),
            |row| {
                let run = row.run(0)?;
                Ok((run, row.json(1)?))
            },
        )
    }
}

/// The columns [`cached`] reads.
const CACHED: &str = "key, run, step, item, outputs, artifacts, files, created";

/// Stores a result and records its digest.
pub(crate) fn put(writing: &WriteContext<'_>, entry: &CacheEntry) -> QueryResult<()> {
    let connection = writing.connection;
    let key = entry.key.to_string();
    let insert = "INSERT OR REPLACE INTO cache
                      (key, run, step, item, outputs, artifacts, files, created, event)
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0)";
    let values = (
        &key,
        entry.run.as_str(),
        entry.task_id.step.as_str(),
        ItemColumn(entry.task_id.item),
        JsonColumn(&entry.outputs),
        JsonColumn(&entry.artifacts),
        JsonColumn(&entry.files),
        entry.created.millis(),
    );
    connection.prepare_cached(insert)?.execute(values)?;
    let sql = format!("SELECT {RESULT} FROM cache WHERE key = ?1");
    let stored: String = connection.prepare_cached(&sql)?.query_row([&key], |row| row.get(0))?;
    let result = Sha256Digest::of_bytes(stored.as_bytes());
    let fact = StateFact::ResultCached { cache_key: entry.key, result };
    let place = run_events::add_state_event(writing, &StateEvent { at: entry.created, fact })?;
    let seq = integer(place.seq);
    let sql = "UPDATE cache SET event = ?2 WHERE key = ?1";
    connection.prepare_cached(sql)?.execute((&key, seq))?;
    Ok(())
}

/// Returns a cached result, if the log records it as it is; `None`: there is none.
///
/// One statement reads what is compared and what is returned: between two, the row could be replaced.
pub(crate) fn get(
    connection: &Connection,
    key: &str,
) -> rusqlite::Result<Option<Result<CacheEntry, UnrecordedResult>>> {
    let sql = format!("SELECT event, {RESULT}, {CACHED} FROM cache WHERE key = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query([key])?;
    let Some(row) = found.next()? else {
        return Ok(None);
    };
    let (seq, stored): (i64, String) = (row.get(0)?, row.get(1)?);
    // Only a recorded row is known to be readable.
    if is_recorded(connection, key, seq, &stored)? {
        cached(row).map(|entry| Some(Ok(entry)))
    } else {
        Ok(Some(Err(UnrecordedResult)))
    }
}

/// Returns the keys of the latest results of the steps with a name.
pub(crate) fn latest(connection: &Connection, step: &str, count: u32) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT key FROM cache WHERE step = ?1 ORDER BY created DESC, key LIMIT ?2";
    query::all(connection, sql, (step, count), |row| row.get(0))
}

/// True if an event of the log records a result of a key.
fn is_recorded(connection: &Connection, key: &str, seq: i64, stored: &str) -> rusqlite::Result<bool> {
    let result = Sha256Digest::of_bytes(stored.as_bytes());
    let sql = format!("SELECT {LINKED} FROM events WHERE seq = ?1 AND run = ?1 AND run_seq = 0");
    let recorded = connection.prepare_cached(&sql)?.query_row([seq], |row| {
        let event: Option<JsonColumn<StateEvent>> = row.get(7).ok();
        let fact = event.map(|event| event.0.fact);
        Ok(fault(row)?.is_none()
            && matches!(fact, Some(StateFact::ResultCached { cache_key, result: recorded })
                if cache_key.to_string() == key && recorded == result))
    });
    Ok(recorded.optional()?.unwrap_or(false))
}

/// Returns the keys of the cached results the log does not record.
pub(super) fn unrecorded(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement =
        connection.prepare(&format!("SELECT key, event, {RESULT} FROM cache ORDER BY key"))?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (key, seq, stored): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if !is_recorded(connection, &key, seq, &stored)? {
            found.push(key);
        }
    }
    Ok(found)
}

fn cached(row: &Row<'_>) -> rusqlite::Result<CacheEntry> {
    Ok(CacheEntry {
        key: row.word("key")?,
        run: row.run("run")?,
        task_id: TaskId { step: row.word("step")?, item: row.item("item")? },
        outputs: row.json("outputs")?,
        artifacts: row.json("artifacts")?,
        files: row.json("files")?,
        created: row.moment("created")?,
    })
}
