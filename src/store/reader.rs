use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Params, Row};
use serde_json::Value;

use super::column::Json;
use super::fold::Fold;
use super::log::Tail;
use super::{
    Answer, ArtifactRow, AttemptRow, CacheEntry, CheckRow, FindError, Folder, Lease, LogPlace,
    Owner, RunFilter, RunRow, RunState, StepRow, StoreError, answers, connect, lease, locks,
    owners, rows, uses,
};
use crate::digest::Digest;
use crate::machine::Event;
use crate::name::{AmbiguousRun, Name, PlanId, RunId};

/// How many runs are named when a run is not found, or too many are.
const CANDIDATES: i64 = 10;

/// A connection that only reads, while others write.
#[derive(Debug)]
pub struct Reader {
    connection: Connection,
    folder: Folder,
    pub(super) fold: Option<Fold>,
}

impl Reader {
    /// Opens the state folder for reading. [`StoreError::NoState`] where there is none.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let folder = Folder::new(dir);
        Ok(Self {
            connection: connect::for_reading(&folder)?,
            folder,
            fold: None,
        })
    }

    /// The latest runs, newest first.
    pub fn runs(&self, limit: usize, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError> {
        self.fold_all()?;
        let (any_state, outcome) = match filter.state {
            None => (true, None),
            Some(RunState::Running) => (false, None),
            Some(RunState::Ended(outcome)) => (false, Some(outcome.as_str())),
        };
        let sql = format!(
            "SELECT {} FROM runs
             WHERE (?1 OR outcome IS ?2) AND (?3 IS NULL OR plan = ?3) AND (?4 OR parent IS NULL)
             ORDER BY key DESC LIMIT ?5",
            rows::RUN
        );
        let plan = filter.plan.as_ref().map(PlanId::as_str);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let values = (any_state, outcome, plan, filter.nested, limit);
        let rows: Vec<RunRow> = self.all(&sql, values, rows::run)?;
        rows.into_iter().map(|row| self.with_idle(row)).collect()
    }

    /// The run whose id begins with a prefix; nested runs too.
    pub fn find_run(&self, prefix: &str) -> Result<RunId, FindError> {
        let unknown = |latest| FindError::Unknown {
            prefix: prefix.into(),
            latest,
        };
        let hex = prefix
            .bytes()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let mut found = Vec::new();
        if hex && !prefix.is_empty() {
            // "g" follows every hexadecimal digit.
            found = self.ids(
                "SELECT id FROM runs WHERE id >= ?1 AND id < ?1 || 'g' LIMIT ?2",
                (prefix, CANDIDATES),
            )?;
        }
        match found.len() {
            0 => Err(unknown(self.latest()?)),
            1 => Ok(found.remove(0)),
            _ => Err(FindError::Ambiguous(AmbiguousRun {
                prefix: prefix.into(),
                among: found,
            })),
        }
    }

    /// The latest run that is not nested.
    pub fn last_run(&self) -> Result<RunId, FindError> {
        self.latest()?.into_iter().next().ok_or(FindError::NoRuns)
    }

    fn latest(&self) -> Result<Vec<RunId>, StoreError> {
        self.ids(
            "SELECT id FROM runs WHERE parent IS NULL ORDER BY key DESC LIMIT ?1",
            [CANDIDATES],
        )
    }

    /// A run.
    pub fn run(&self, run: &RunId) -> Result<RunRow, StoreError> {
        self.fold(run)?;
        let sql = format!("SELECT {} FROM runs WHERE id = ?1", rows::RUN);
        let row = self.one(&sql, [run.as_str()], rows::run)?;
        self.with_idle(row.ok_or_else(|| StoreError::UnknownRun(run.clone()))?)
    }

    /// What people answered to a question of a run, by key.
    pub fn answers(&self, run: &RunId, number: u32) -> Result<Vec<Answer>, StoreError> {
        answers::of(&self.connection, run, number).map_err(|error| self.failed(&error))
    }

    /// The last use of an approval that the log records; 0 if it was never used.
    pub fn used(&self, nonce: &str) -> Result<u32, StoreError> {
        let used = uses::of(&self.connection, nonce).map_err(|error| self.failed(&error))?;
        let path = self.folder.database();
        let used = used.map_err(|broken| StoreError::Broken { path, broken })?;
        Ok(used.numbers.last().copied().unwrap_or(0))
    }

    /// The configuration that a run was recorded with.
    pub fn config(&self, run: &RunId) -> Result<Value, StoreError> {
        self.fold(run)?;
        let sql = "SELECT config FROM runs WHERE id = ?1";
        self.one(sql, [run.as_str()], |row| row.get::<_, Json<_>>(0))?
            .map(|config| config.0)
            .ok_or_else(|| StoreError::UnknownRun(run.clone()))
    }

    /// The process that works on a run, or did last; `None` once it gave the run back.
    pub fn owner(&self, run: &RunId) -> Result<Option<Owner>, StoreError> {
        let newest = owners::newest(&self.connection, run);
        let newest = newest.map_err(|error| self.failed(&error))?;
        let held = newest.filter(|lease| lease.released.is_none());
        Ok(held.map(|lease| Owner {
            pid: lease.pid,
            alive: !lease.lapsed,
        }))
    }

    /// Everybody who ever worked on a run, in order; the last one has it, or had it last. A
    /// nested run has no owner of its own.
    pub fn owners(&self, run: &RunId) -> Result<Vec<Lease>, StoreError> {
        let sql = format!(
            "SELECT {} FROM owners WHERE run = ?1 ORDER BY token",
            lease::COLUMNS
        );
        self.all(&sql, [run.as_str()], lease::read)
    }

    /// Whether a run that has not ended was given to a keeper.
    pub fn needs_keeper(&self, keeper: &str) -> Result<bool, StoreError> {
        self.fold_all()?;
        let sql = "SELECT 1 FROM owners JOIN runs ON runs.id = owners.run
                   WHERE keeper = ?1 AND ended IS NULL LIMIT 1";
        let found: Vec<i64> = self.all(sql, [keeper], |row| row.get(0))?;
        Ok(!found.is_empty())
    }

    /// The steps of a run that something happened to, in the order in which it first did.
    pub fn steps(&self, run: &RunId) -> Result<Vec<StepRow>, StoreError> {
        self.fold(run)?;
        self.all(rows::STEPS, [run.as_str()], rows::step)
    }

    /// The attempts of a run, in the order in which they began.
    pub fn attempts(&self, run: &RunId) -> Result<Vec<AttemptRow>, StoreError> {
        self.fold(run)?;
        self.all(rows::ATTEMPTS, [run.as_str()], rows::attempt)
    }

    /// The rulings of a run, in order.
    pub fn checks(&self, run: &RunId) -> Result<Vec<CheckRow>, StoreError> {
        self.fold(run)?;
        self.all(rows::CHECKS, [run.as_str()], rows::check)
    }

    /// The files that a run's attempts left.
    pub fn artifacts(&self, run: &RunId) -> Result<Vec<ArtifactRow>, StoreError> {
        self.fold(run)?;
        self.all(rows::ARTIFACTS, [run.as_str()], rows::artifact)
    }

    /// The events of a run after a number (0: all), with their numbers.
    pub fn events(&self, run: &RunId, after: u64) -> Result<Vec<(u64, Event)>, StoreError> {
        self.fold(run)?;
        let mut events = self.all(
            "SELECT n, body FROM events
             WHERE run = (SELECT key FROM runs WHERE id = ?1) AND n > ?2 ORDER BY n",
            (run.as_str(), i64::try_from(after).unwrap_or(i64::MAX)),
            |row| {
                let event: Json<Event> = row.get(1)?;
                Ok((row.get::<_, i64>(0)?.unsigned_abs(), event.0))
            },
        )?;
        self.with_trees(events.iter_mut().map(|(_, event)| event))?;
        Ok(events)
    }

    /// The events of a run that are of certain kinds.
    pub fn facts(&self, run: &RunId, kinds: &[&str]) -> Result<Vec<Event>, StoreError> {
        self.fold(run)?;
        let kinds: Vec<String> = kinds.iter().map(|kind| format!("'{kind}'")).collect();
        let sql = format!(
            "SELECT body FROM events
             WHERE run = (SELECT key FROM runs WHERE id = ?1) AND kind IN ({}) ORDER BY n",
            kinds.join(", ")
        );
        let mut events = self.all(&sql, [run.as_str()], |row| {
            row.get::<_, Json<Event>>(0).map(|event| event.0)
        })?;
        self.with_trees(&mut events)?;
        Ok(events)
    }

    /// The runs nested in a run, with the attempt that each is nested in.
    pub fn children(&self, run: &RunId) -> Result<Vec<(RunId, String)>, StoreError> {
        self.fold(run)?;
        self.all(
            "SELECT id, parent_attempt FROM runs WHERE parent = ?1 ORDER BY key",
            [run.as_str()],
            |row| Ok((RunId::from_stored(row.get::<_, String>(0)?), row.get(1)?)),
        )
    }

    /// The runs that repeat a run, in the order in which they began.
    pub fn repeats(&self, run: &RunId) -> Result<Vec<RunId>, StoreError> {
        self.ids(
            "SELECT id FROM runs WHERE retry_of = ?1 ORDER BY key",
            [run.as_str()],
        )
    }

    /// A kept result.
    pub fn cache_get(&self, key: &Digest) -> Result<Option<CacheEntry>, StoreError> {
        let sql = format!("SELECT {} FROM cache WHERE key = ?1", rows::CACHED);
        self.one(&sql, [key.to_string()], rows::cached)
    }

    /// What a place asked the cache in a run: whether it was a hit, and what the key was
    /// computed from.
    pub fn cache_parts(
        &self,
        run: &RunId,
        step: &Name,
        item_key: Option<&str>,
    ) -> Result<Option<(bool, Value)>, StoreError> {
        self.one(
            "SELECT hit, parts FROM cache_lookups WHERE run = ?1 AND step = ?2 AND item_key = ?3",
            (run.as_str(), step.as_str(), item_key.unwrap_or_default()),
            |row| Ok((row.get(0)?, row.get::<_, Json<_>>(1)?.0)),
        )
    }

    /// The latest run of a plan, before a run, in which a place asked the cache, and what its
    /// key was computed from then.
    pub fn last_cache_parts(
        &self,
        plan: &PlanId,
        step: &Name,
        item_key: Option<&str>,
        before: &RunId,
    ) -> Result<Option<(RunId, Value)>, StoreError> {
        self.one(
            "SELECT runs.id, parts FROM runs JOIN cache_lookups ON cache_lookups.run = runs.id
             WHERE plan = ?1 AND step = ?2 AND item_key = ?3
                 AND runs.key < (SELECT key FROM runs WHERE id = ?4)
             ORDER BY runs.key DESC LIMIT 1",
            (
                plan.as_str(),
                step.as_str(),
                item_key.unwrap_or_default(),
                before.as_str(),
            ),
            |row| {
                let run = RunId::from_stored(row.get::<_, String>(0)?);
                Ok((run, row.get::<_, Json<_>>(1)?.0))
            },
        )
    }

    /// The runs that somebody has, or may have, and who.
    pub fn living(&self) -> Result<Vec<(RunId, Lease)>, StoreError> {
        let sql = format!(
            "SELECT {}, run FROM owners AS o WHERE released IS NULL
             AND token = (SELECT max(token) FROM owners WHERE run = o.run) ORDER BY since",
            lease::COLUMNS
        );
        let mut all = self.all(&sql, [], |row| {
            let run = RunId::from_stored(row.get::<_, String>("run")?);
            Ok((run, lease::read(row)?))
        })?;
        all.retain(|(_, lease)| !lease.lapsed);
        Ok(all)
    }

    /// The last event of the log.
    pub fn end(&self) -> Result<Option<LogPlace>, StoreError> {
        let tail = Tail::read(&self.connection).map_err(|error| self.failed(&error))?;
        Ok((tail.seq > 0).then(|| LogPlace::from(&tail)))
    }

    /// What is wrong with the database file, if anything is; reads all of it.
    pub fn damage(&self) -> Result<Option<String>, StoreError> {
        let found: Option<String> = self.one("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        Ok(found.filter(|found| found != "ok"))
    }

    /// The size of the database, its log not counted, in bytes.
    pub fn size(&self) -> Result<u64, StoreError> {
        let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        let size = self.one(sql, [], |row| row.get::<_, i64>(0))?;
        Ok(size.unwrap_or(0).unsigned_abs())
    }

    /// How many migrations made the schema.
    pub fn schema(&self) -> Result<u32, StoreError> {
        let sql = "SELECT count(*) FROM migrations";
        Ok(self.one(sql, [], |row| row.get(0))?.unwrap_or(0))
    }

    /// The named locks whose holders are dead: name, run and place.
    pub fn stale_locks(&self) -> Result<Vec<(String, RunId, String)>, StoreError> {
        locks::stale(&self.connection).map_err(|error| self.failed(&error))
    }

    /// Writes a copy of the database, as of one instant.
    pub(super) fn copy(&self, to: &Path) -> Result<(), StoreError> {
        let path = to.to_str().unwrap_or_default();
        self.connection
            .execute("VACUUM INTO ?1", [path])
            .map(drop)
            .map_err(|error| StoreError::sqlite(to, &error))
    }

    /// The connection, for the other readers of this module.
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The state folder.
    pub(super) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Sorts a failure of SQLite.
    pub(super) fn failed(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::sqlite(&self.folder.database(), error)
    }

    fn ids(&self, sql: &str, values: impl Params) -> Result<Vec<RunId>, StoreError> {
        self.all(sql, values, |row| {
            row.get::<_, String>(0).map(RunId::from_stored)
        })
    }

    pub(super) fn all<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let all = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_map(values, read)?.collect::<Result<_, _>>()
        };
        all().map_err(|error| self.failed(&error))
    }

    pub(super) fn one<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let one = || {
            self.connection
                .prepare_cached(sql)?
                .query_row(values, read)
                .optional()
        };
        one().map_err(|error| self.failed(&error))
    }
}
