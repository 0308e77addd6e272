use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Params, Row};
use serde_json::Value;

use crate::column::{ItemColumn, JsonColumn};
use crate::db::connect;
use crate::error::StoreError;
use crate::files::folder::StateFolder;
use crate::lease::locks::{self, LockWait};
use crate::lease::owners;
use crate::lease::permits::{self, PermitTask};
use crate::lease::run_lease::{self, RunLease};
use crate::log::tail::{LogPosition, LogTail};
use crate::projections::cache::{self, CacheEntry, UnrecordedResult};
use crate::projections::fold::ShadowProjections;
use crate::projections::uses;
use crate::tables::answers::{self, ApprovalAnswer};
use crate::views::find::FindError;
use crate::views::rows;
use crate::views::view::{ArtifactRow, AttemptRow, CheckRow, RunFilter, RunOwner, RunRow, RunState, StepRow};
use wf_base::digest::Sha256Digest;
use wf_base::name::{AmbiguousRunError, Name, PlanId, RunId, SessionName};
use wf_core::machine::{Attempt, LockHolder, Standing};
use wf_core::undo::UndoRun;

/// The number of runs listed when a run is not found, or is ambiguous.
const CANDIDATES: i64 = 10;

/// A connection that only reads, while others write.
#[derive(Debug)]
pub struct StoreReader {
    connection: Connection,
    folder: StateFolder,
    pub(crate) fold: Option<ShadowProjections>,
}

impl StoreReader {
    /// Opens the state folder for reading. Fails with [`StoreError::NoState`] if there is none.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let folder = StateFolder::new(dir);
        Ok(Self { connection: connect::for_reading(&folder)?, folder, fold: None })
    }

    /// Opens the folder of an open store.
    pub(crate) fn open_on(folder: &StateFolder) -> Result<Self, StoreError> {
        Ok(Self { connection: connect::for_reading_on(folder)?, folder: folder.clone(), fold: None })
    }

    /// Opens a state whose schema this program does not know, to copy it.
    pub(crate) fn open_unchecked(dir: &Path) -> Result<Self, StoreError> {
        let folder = StateFolder::new(dir);
        Ok(Self { connection: connect::unchecked(&folder.database())?, folder, fold: None })
    }

    /// Returns the latest runs, newest first.
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
                 AND (?5 IS NULL OR session = ?5)
             ORDER BY key DESC LIMIT ?6",
            rows::RUN
        );
        let plan = filter.plan.as_ref().map(PlanId::as_str);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let session = filter.session.as_ref().map(SessionName::as_str);
        let values = (any_state, outcome, plan, filter.nested, session, limit);
        let mut rows: Vec<RunRow> = self.all(&sql, values, rows::run)?;
        if self.follow_log(&mut rows)? {
            rows.retain(|row| filter.state.is_none_or(|state| row.state == state));
        }
        rows.into_iter().map(|row| self.with_idle(row)).collect()
    }

    /// Replaces rows whose end is not the one that the log has. Returns true if there were any.
    fn follow_log(&self, rows: &mut [RunRow]) -> Result<bool, StoreError> {
        let mut log = None;
        for row in rows.iter_mut().filter(|_| self.fold.is_none()) {
            let (state, standing) =
                self.logged_end(&row.id)?.unwrap_or((RunState::Running, Standing::default()));
            if (row.state, row.standing) != (state, standing) {
                let reader = match log.take() {
                    Some(reader) => reader,
                    None => Self::from_log(self.folder.path())?,
                };
                match log.insert(reader).run(&row.id) {
                    Ok(logged) => *row = logged,
                    // Retention removed it meanwhile.
                    Err(StoreError::UnknownRun(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(log.is_some())
    }

    /// Returns the run whose id begins with a prefix; nested runs too.
    pub fn find_run(&self, prefix: &str) -> Result<RunId, FindError> {
        let unknown = |latest| FindError::Unknown { prefix: prefix.into(), latest };
        let hex = prefix.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let mut found = Vec::new();
        if hex && !prefix.is_empty() {
            // "g" sorts after every hexadecimal digit.
            found = self.ids(
                "SELECT id FROM runs WHERE id >= ?1 AND id < ?1 || 'g' LIMIT ?2",
                (prefix, CANDIDATES),
            )?;
        }
        match found.len() {
            0 => Err(match self.find_pruned(prefix)? {
                Some((run, summary)) => FindError::Pruned { run, summary: Box::new(summary) },
                None => unknown(self.latest()?),
            }),
            1 => Ok(found.remove(0)),
            _ => Err(FindError::Ambiguous(AmbiguousRunError { prefix: prefix.into(), among: found })),
        }
    }

    /// Returns the latest run that is not nested.
    pub fn last_run(&self) -> Result<RunId, FindError> {
        self.latest()?.into_iter().next().ok_or(FindError::NoRuns)
    }

    fn latest(&self) -> Result<Vec<RunId>, StoreError> {
        self.ids("SELECT id FROM runs WHERE parent IS NULL ORDER BY key DESC LIMIT ?1", [CANDIDATES])
    }

    /// Returns a run.
    pub fn run(&self, run: &RunId) -> Result<RunRow, StoreError> {
        self.fold(run)?;
        let sql = format!("SELECT {} FROM runs WHERE id = ?1", rows::RUN);
        let row = self.query_one(&sql, [run.as_str()], rows::run)?;
        self.with_idle(row.ok_or_else(|| StoreError::UnknownRun(run.clone()))?)
    }

    /// Returns the answers to a question of a run, by key.
    pub fn answers(&self, run: &RunId, number: u32) -> Result<Vec<ApprovalAnswer>, StoreError> {
        answers::read_answers(&self.connection, run, number).map_err(|error| self.failed(&error))
    }

    /// Returns the number of the last use of an approval in the log; 0 if it was never used.
    pub fn last_use_of(&self, nonce: &str) -> Result<u32, StoreError> {
        let used = uses::read_uses(&self.connection, nonce).map_err(|error| self.failed(&error))?;
        let used = used.map_err(|broken| self.broken(broken))?;
        Ok(used.numbers.last().copied().unwrap_or(0))
    }

    /// Returns the configuration that a run was recorded with.
    pub fn config(&self, run: &RunId) -> Result<Value, StoreError> {
        self.fold(run)?;
        let sql = "SELECT config FROM runs WHERE id = ?1";
        self.query_one(sql, [run.as_str()], |row| row.get::<_, JsonColumn<_>>(0))?
            .map(|config| config.0)
            .ok_or_else(|| StoreError::UnknownRun(run.clone()))
    }

    /// Returns the process that works on a run, or did last; `None` once it released the run.
    pub fn owner(&self, run: &RunId) -> Result<Option<RunOwner>, StoreError> {
        let newest = owners::newest(&self.connection, run);
        let newest = newest.map_err(|error| self.failed(&error))?;
        let held = newest.filter(|lease| lease.released.is_none());
        Ok(held.map(|lease| RunOwner { pid: lease.pid, alive: !lease.may_be_taken }))
    }

    /// Returns all leases of a run, in order; the last one is current, or was the latest. A nested
    /// run has none of its own.
    pub fn owners(&self, run: &RunId) -> Result<Vec<RunLease>, StoreError> {
        let sql = format!("SELECT {} FROM run_leases WHERE run = ?1 ORDER BY token", run_lease::COLUMNS);
        self.all(&sql, [run.as_str()], run_lease::read)
    }

    /// True if a run that has not ended was given to a supervisor.
    pub fn needs_keeper(&self, keeper: &str) -> Result<bool, StoreError> {
        self.fold_all()?;
        let sql = "SELECT 1 FROM run_leases JOIN runs ON runs.id = run_leases.run
                   WHERE supervisor = ?1 AND ended IS NULL LIMIT 1";
        let found: Vec<i64> = self.all(sql, [keeper], |row| row.get(0))?;
        Ok(!found.is_empty())
    }

    /// Returns the steps of a run with any event, in the order of their first events.
    pub fn steps(&self, run: &RunId) -> Result<Vec<StepRow>, StoreError> {
        self.fold(run)?;
        self.all(rows::STEPS, [run.as_str()], rows::step)
    }

    /// Returns the attempts of a run, in the order of their starts.
    pub fn attempts(&self, run: &RunId) -> Result<Vec<AttemptRow>, StoreError> {
        self.fold(run)?;
        self.all(rows::ATTEMPTS, [run.as_str()], rows::attempt)
    }

    /// Returns an attempt of a run; `None` if it has none of that number.
    pub fn attempt(&self, run: &RunId, attempt: &Attempt) -> Result<Option<AttemptRow>, StoreError> {
        self.fold(run)?;
        let values =
            (run.as_str(), attempt.place.step.as_str(), ItemColumn(attempt.place.item), attempt.attempt);
        self.query_one(rows::ATTEMPT, values, rows::attempt)
    }

    /// Returns the verdicts of a run, in order.
    pub fn checks(&self, run: &RunId) -> Result<Vec<CheckRow>, StoreError> {
        self.fold(run)?;
        self.all(rows::CHECKS, [run.as_str()], rows::check)
    }

    /// Returns the artifacts of a run's attempts.
    pub fn artifacts(&self, run: &RunId) -> Result<Vec<ArtifactRow>, StoreError> {
        self.fold(run)?;
        self.all(rows::ARTIFACTS, [run.as_str()], rows::artifact)
    }

    /// Returns the runs nested in a run, with the attempt that each is nested in.
    pub fn children(&self, run: &RunId) -> Result<Vec<(RunId, String)>, StoreError> {
        self.fold(run)?;
        self.all(
            "SELECT id, parent_attempt FROM runs WHERE parent = ?1 ORDER BY key",
            [run.as_str()],
            |row| Ok((RunId::from_stored(row.get::<_, String>(0)?), row.get(1)?)),
        )
    }

    /// Returns the runs that retry a run, in the order of their starts.
    pub fn repeats(&self, run: &RunId) -> Result<Vec<RunId>, StoreError> {
        self.ids("SELECT id FROM runs WHERE retry_of = ?1 ORDER BY key", [run.as_str()])
    }

    /// Returns the runs that undo a run, in the order of their starts.
    pub fn undos(&self, run: &RunId) -> Result<Vec<UndoRun>, StoreError> {
        let runs =
            self.ids("SELECT id FROM runs WHERE config ->> '$.undo_of' = ?1 ORDER BY key", [run.as_str()])?;
        let row = |run: RunId| {
            let outcome = match self.run(&run)?.state {
                RunState::Running => None,
                RunState::Ended(outcome) => Some(outcome),
            };
            Ok(UndoRun { run, outcome })
        };
        runs.into_iter().map(row).collect()
    }

    /// Returns the run of the same plan that was recorded before a run, nested if that is; `None` if it is the first.
    pub fn run_before(&self, run: &RunId) -> Result<Option<RunId>, StoreError> {
        let sql = "SELECT earlier.id FROM runs JOIN runs AS earlier
                ON earlier.plan = runs.plan AND earlier.key < runs.key
                    AND (earlier.parent IS NULL) = (runs.parent IS NULL)
             WHERE runs.id = ?1 ORDER BY earlier.key DESC LIMIT 1";
        Ok(self.ids(sql, [run.as_str()])?.into_iter().next())
    }

    /// Returns a cached result, if the log records it as it is.
    pub fn cache_get(
        &self,
        key: &Sha256Digest,
    ) -> Result<Option<Result<CacheEntry, UnrecordedResult>>, StoreError> {
        cache::get(&self.connection, &key.to_string()).map_err(|error| self.failed(&error))
    }

    /// Returns the latest cached results of the steps with a name, as far as the log records them.
    pub fn latest_results(&self, step: &Name, count: u32) -> Result<Vec<CacheEntry>, StoreError> {
        let keys = cache::latest(&self.connection, step.as_str(), count);
        let results =
            keys.and_then(|keys| keys.iter().map(|key| cache::get(&self.connection, key)).collect());
        let results: Vec<_> = results.map_err(|error| self.failed(&error))?;
        Ok(results.into_iter().flatten().filter_map(Result::ok).collect())
    }

    /// Returns the cache lookup of a task in a run: true for a hit, and the parts that the key was
    /// computed from.
    pub fn cache_parts(
        &self,
        run: &RunId,
        step: &Name,
        item_key: Option<&str>,
    ) -> Result<Option<(bool, Value)>, StoreError> {
        self.query_one(
            "SELECT hit, parts FROM cache_lookups WHERE run = ?1 AND step = ?2 AND item_key = ?3",
            (run.as_str(), step.as_str(), item_key.unwrap_or_default()),
            |row| Ok((row.get(0)?, row.get::<_, JsonColumn<_>>(1)?.0)),
        )
    }

    /// Returns the latest run of a plan, before a run, in which a task looked up the cache, and the
    /// parts of its key then.
    pub fn last_cache_parts(
        &self,
        plan: &PlanId,
        step: &Name,
        item_key: Option<&str>,
        before: &RunId,
    ) -> Result<Option<(RunId, Value)>, StoreError> {
        self.query_one(
            "SELECT runs.id, parts FROM runs JOIN cache_lookups ON cache_lookups.run = runs.id
             WHERE plan = ?1 AND step = ?2 AND item_key = ?3
                 AND runs.key < (SELECT key FROM runs WHERE id = ?4)
             ORDER BY runs.key DESC LIMIT 1",
            (plan.as_str(), step.as_str(), item_key.unwrap_or_default(), before.as_str()),
            |row| {
                let run = RunId::from_stored(row.get::<_, String>(0)?);
                Ok((run, row.get::<_, JsonColumn<_>>(1)?.0))
            },
        )
    }

    /// Returns the runs that are owned, or may be, with their leases.
    pub fn owned_runs(&self) -> Result<Vec<(RunId, RunLease)>, StoreError> {
        let sql = format!(
            "SELECT {}, run FROM run_leases AS o WHERE released IS NULL
             AND token = (SELECT max(token) FROM run_leases WHERE run = o.run) ORDER BY acquired_at",
            run_lease::COLUMNS
        );
        let mut all = self.all(&sql, [], |row| {
            let run = RunId::from_stored(row.get::<_, String>("run")?);
            Ok((run, run_lease::read(row)?))
        })?;
        all.retain(|(_, lease)| !lease.may_be_taken);
        Ok(all)
    }

    /// Returns the position of the last event of the log.
    pub fn log_end(&self) -> Result<Option<LogPosition>, StoreError> {
        let tail = LogTail::read(&self.connection).map_err(|error| self.failed(&error))?;
        Ok((tail.seq > 0).then(|| LogPosition::from(&tail)))
    }

    /// Returns the damage of the database file, if there is any; reads all of it.
    pub fn find_damage(&self) -> Result<Option<String>, StoreError> {
        let found: Option<String> = self.query_one("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        Ok(found.filter(|found| found != "ok"))
    }

    /// Returns the size of the database without its write-ahead log, in bytes.
    pub fn size(&self) -> Result<u64, StoreError> {
        let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        let size = self.query_one(sql, [], |row| row.get::<_, i64>(0))?;
        Ok(size.unwrap_or(0).unsigned_abs())
    }

    /// Returns the number of migrations that made the schema.
    pub fn schema(&self) -> Result<u32, StoreError> {
        let sql = "SELECT count(*) FROM migrations";
        Ok(self.query_one(sql, [], |row| row.get(0))?.unwrap_or(0))
    }

    /// Returns the locks whose holders are dead.
    pub fn stale_locks(&self) -> Result<Vec<LockHolder>, StoreError> {
        locks::stale(&self.connection).map_err(|error| self.failed(&error))
    }

    /// Returns the tasks of living processes that wait for a lock, by time.
    pub fn lock_waits(&self) -> Result<Vec<LockWait>, StoreError> {
        locks::waits(&self.connection).map_err(|error| self.failed(&error))
    }

    /// Returns the tasks of living processes that have a permit, and those that wait for one, each by time.
    pub fn permit_tasks(&self) -> Result<(Vec<PermitTask>, Vec<PermitTask>), StoreError> {
        permits::tasks(&self.connection).map_err(|error| self.failed(&error))
    }
    /// Returns the connection, for the other readers of this module.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns the state folder.
    pub fn folder(&self) -> &StateFolder {
        &self.folder
    }

    /// Classifies an error of SQLite.
    pub(crate) fn failed(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::sqlite(&self.folder.database(), error)
    }

    fn ids(&self, sql: &str, values: impl Params) -> Result<Vec<RunId>, StoreError> {
        self.all(sql, values, |row| row.get::<_, String>(0).map(RunId::from_stored))
    }

    pub(crate) fn all<T>(
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

    pub(crate) fn query_one<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let one = || self.connection.prepare_cached(sql)?.query_row(values, read).optional();
        one().map_err(|error| self.failed(&error))
    }
}
