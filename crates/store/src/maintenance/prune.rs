use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::Connection;

use crate::{
    column::{JsonColumn, integer},
    db::{reader::StoreReader, store::Store, writer::WriteContext},
    error::{QueryResult, StoreError},
    events::{run_end, run_events},
    files::{
        folder,
        folder::{RunRetention, StateFolder},
    },
    lease::run_lease,
    log::{
        state_event::{ApprovalUse, PrunedRun, StateEvent, StateFact, gone},
        tail::LogPosition,
    },
    maintenance::{artifact_limit::ArtifactLimit, upgrade::COPY_AGE},
    projections::{rebuild::PROJECTIONS, row_log, row_snapshot::HEAD, uses},
    views::{
        runs::{RunTable, undos},
        summary::summarize,
    },
};
use wf_base::{digest::Sha256Digest, failpoint, name::RunId, time::Moment};
use wf_core::undo::{UndoOffer, UndoRefusal};

/// The age below which files and folders stay, since no recorded event may name them yet.
const GRACE: Duration = Duration::from_hours(1);

/// The most runs pruned at once, without those nested in them: other processes wait for the transaction.
pub const PRUNED_AT_ONCE: usize = 200;

/// The result of pruning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PruneResult {
    pub runs: usize,
    /// The number of runs whose stored files alone are removed.
    pub shortened: usize,
    /// The number of stored files no run or cached result names any more.
    pub blobs: usize,
    /// The position of the record in the log, if any runs were pruned.
    pub position: Option<LogPosition>,
}

/// Prunes ended runs beyond the retention, and the stored files of those beyond the limit on these.
pub(crate) fn prune(store: &Store, retention: RunRetention, now: Moment) -> Result<PruneResult, StoreError> {
    let Some(_turn) = folder::try_lock_schema(store.folder()) else {
        return Ok(PruneResult::default());
    };
    let (runs, position) = store.job(move |writing| rows(writing, retention, now)).wait()?;
    for run in &runs {
        // Files that stay for some reason are removed later.
        failpoint::point("forget.before");
        let _ = fs::remove_dir_all(store.folder().run(run));
        failpoint::point("forget.after");
    }
    let limit = ArtifactLimit::exceeded(store.folder(), retention);
    let is_limited = limit.is_some();
    let shortened = match limit {
        Some(limit) => store.job(move |writing| limit.apply(writing, now)).wait()?,
        None => 0,
    };
    let blobs = files(store.folder(), now, is_limited)?;
    Ok(PruneResult { runs: runs.len(), shortened, blobs, position })
}

/// Prunes runs in the database, and logs it; returns their ids and the position of the record.
pub(crate) fn rows(
    writing: &WriteContext<'_>,
    retention: RunRetention,
    now: Moment,
) -> QueryResult<(Vec<RunId>, Option<LogPosition>)> {
    let forget = || forget_all(writing, retention, now);
    let (runs, uses) =
        if has_accounts(writing.connection)? { row_log::change(writing, now, forget)? } else { forget()? };
    let forgotten = runs.iter().map(|run| run.id.clone()).collect();
    if runs.is_empty() {
        return Ok((forgotten, None));
    }
    let fact = StateFact::RunsPruned { runs, uses };
    let place = run_events::add_state_event(writing, &StateEvent { at: now, fact })?;
    Ok((forgotten, Some(place)))
}

impl RunTable<&StoreReader> {
    /// True unless a lookup shows that no run is beyond the limits.
    pub fn may_exceed(self, retention: RunRetention, now: Moment) -> Result<bool, StoreError> {
        if retention.max_runs.is_some() || self.0.artifacts().may_exceed(retention)? {
            return Ok(true);
        }
        let Some(age) = retention.max_age else { return Ok(false) };
        let age = integer(age.as_millis());
        let sql = "SELECT 1 FROM main.runs WHERE ended < ?1 AND parent IS NULL LIMIT 1";
        let found = self.0.query_one(sql, [now.millis().saturating_sub(age)], |_| Ok(()))?;
        Ok(found.is_some())
    }

    /// Returns the runs beyond the limits, without those nested in them.
    pub fn exceeding(self, retention: RunRetention, now: Moment) -> Result<Vec<RunId>, StoreError> {
        let exceeding = self.0.query(|connection| beyond(connection, retention, now))?;
        Ok(exceeding.into_iter().map(RunId::from_stored).collect())
    }

    /// Returns the last end of a run not nested, or the one that so many runs ended after.
    pub fn last_end(self, after: usize) -> Result<Option<Moment>, StoreError> {
        let sql = "SELECT ended FROM main.runs WHERE ended IS NOT NULL AND parent IS NULL
                   ORDER BY ended DESC LIMIT 1 OFFSET ?1";
        let end: Option<i64> = self.0.query_one(sql, [integer(after)], |row| row.get(0))?;
        Ok(end.map(Moment::from_millis))
    }
}

/// True if there may be anything about goals, or suggestions.
fn has_accounts(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM main.goals UNION ALL SELECT 1 FROM main.reconciliations
               UNION ALL SELECT 1 FROM main.suggestions LIMIT 1";
    connection.prepare_cached(sql)?.exists([])
}

/// Prunes the oldest runs; returns them, and the uses of approvals their events recorded.
fn forget_all(
    writing: &WriteContext<'_>,
    retention: RunRetention,
    now: Moment,
) -> QueryResult<(Vec<PrunedRun>, Vec<ApprovalUse>)> {
    let connection = writing.connection;
    let (mut count, mut forgotten, mut uses) = (0, Vec::new(), Vec::new());
    for root in beyond(connection, retention, now)? {
        let owner = run_lease::newest(connection, &RunId::from_stored(root.as_str()))?;
        if owner.is_some_and(|lease| !lease.may_be_taken) {
            continue;
        }
        let tree = tree(connection, &root)?;
        // The table proposes; what is lost for good is decided by the log.
        let runs = tree.iter().map(|(_, id)| RunId::from_stored(id.as_str())).collect();
        if !run_end::all_ended(connection, runs)? {
            continue;
        }
        count += 1;
        let outer = tree.iter().find(|(_, id)| *id == root);
        let summary = outer.map_or(Ok(None), |(key, _)| summarize(connection, *key))?;
        for (key, id) in &tree {
            uses.extend(uses::of_run(connection, *key, id)?);
            forget(connection, *key, id)?;
        }
        let mut summaries = summary.into_iter();
        forgotten.extend(tree.into_iter().map(|(key, id)| {
            let summary = if id == root { summaries.next() } else { None };
            PrunedRun { key, id: RunId::from_stored(id), summary }
        }));
        if count == PRUNED_AT_ONCE {
            break;
        }
    }
    if !forgotten.is_empty() {
        sweep_rows(connection, now)?;
    }
    if let Some(age) = retention.max_age {
        accounts(connection, now, age)?;
    }
    Ok((forgotten, uses))
}

/// The number of reconciliations of each goal that stay, however old: what follows from the next one depends on the last ones.
const KEPT_RECONCILIATIONS: usize = 100;

/// Prunes old ledger entries. A decision about a pruned scheduled time stays final: only scheduled
/// times after those accounted for are considered.
fn accounts(connection: &Connection, now: Moment, age: Duration) -> rusqlite::Result<()> {
    let age = integer(age.as_millis());
    let oldest = now.millis().saturating_sub(age);
    let beyond = format!(
        "DELETE FROM reconciliations WHERE ended < ?1 AND run NOT IN (SELECT id FROM runs) AND run IN
             (SELECT run FROM
                 (SELECT run, row_number() OVER (PARTITION BY goal ORDER BY started_at DESC) AS place FROM reconciliations)
              WHERE place > {KEPT_RECONCILIATIONS})"
    );
    for sql in [
        &beyond,
        "DELETE FROM slots WHERE at < ?1 AND state NOT IN ('due', 'queued')
             AND (run IS NULL OR run NOT IN (SELECT run FROM reconciliations))",
        "DELETE FROM notifications WHERE sent < ?1",
        // The last one stays, so that no number is used twice.
        "DELETE FROM suggestions WHERE changed < ?1 AND state <> 'pending'
             AND number < (SELECT max(number) FROM suggestions)",
    ] {
        connection.execute(sql, [oldest])?;
    }
    Ok(())
}

/// Returns the ended, not nested runs beyond the retention, from the oldest.
pub(super) fn beyond(
    connection: &Connection,
    retention: RunRetention,
    now: Moment,
) -> rusqlite::Result<Vec<String>> {
    let oldest =
        retention.max_age.map_or(i64::MIN, |age| now.millis().saturating_sub(integer(age.as_millis())));
    let most = retention.max_runs.map_or(i64::MAX, integer);
    let mut found: Vec<String> = connection
        .prepare(
            "SELECT id FROM
                 (SELECT id, ended, row_number() OVER (ORDER BY key DESC) AS place
                  FROM runs WHERE outcome IS NOT NULL AND parent IS NULL
                      AND id NOT IN (SELECT run FROM reconciliations WHERE ended IS NULL))
             WHERE ended < ?1 OR place > ?2 ORDER BY place DESC",
        )?
        .query_map((oldest, most), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    if !found.is_empty() {
        let needed = needed(connection, now)?;
        found.retain(|run| !needed.contains(run));
    }
    Ok(found)
}

/// Returns a run and all nested in it; nothing if one of them has not ended.
fn tree(connection: &Connection, root: &str) -> rusqlite::Result<Vec<(i64, String)>> {
    let mut found = Vec::new();
    let mut statement = connection.prepare_cached(
        "WITH RECURSIVE below (id) AS
             (SELECT ?1 UNION SELECT runs.id FROM runs JOIN below ON runs.parent = below.id)
         SELECT key, runs.id, outcome IS NULL FROM runs JOIN below ON runs.id = below.id",
    )?;
    let mut rows = statement.query([root])?;
    while let Some(row) = rows.next()? {
        if row.get(2)? {
            return Ok(Vec::new());
        }
        found.push((row.get(0)?, row.get(1)?));
    }
    Ok(found)
}

/// Prunes a run. Its events keep their hashes, and the digests of their bodies.
fn forget(connection: &Connection, key: i64, id: &str) -> rusqlite::Result<()> {
    let mut events =
        connection.prepare_cached("SELECT seq, body FROM events WHERE run = ?1 ORDER BY run_seq")?;
    let bodies: Vec<(i64, Sha256Digest)> = events
        .query_map([key], |row| {
            let body = row.get_ref(1)?.as_str()?;
            Ok((row.get(0)?, Sha256Digest::of_bytes(body.as_bytes())))
        })?
        .collect::<Result<_, _>>()?;
    let mut empty = connection.prepare_cached("UPDATE events SET body = NULL, digest = ?2 WHERE seq = ?1")?;
    for (seq, digest) in bodies {
        empty.execute((seq, digest.bytes()))?;
    }
    for table in PROJECTIONS {
        let column = if table == "runs" { "key" } else { "run" };
        connection.prepare_cached(&format!("DELETE FROM {table} WHERE {column} = ?1"))?.execute([key])?;
    }
    // The record of pruning restores the uses of approvals.
    for table in ["cache_lookups", "run_leases", "locks", "permits", "approval_uses"] {
        connection.prepare_cached(&format!("DELETE FROM {table} WHERE run = ?1"))?.execute([id])?;
    }
    Ok(())
}

/// Removes texts without a run, cached results no run made or looked up, and owners of runs that were never
/// recorded.
fn sweep_rows(connection: &Connection, now: Moment) -> rusqlite::Result<()> {
    let grace = integer(GRACE.as_millis());
    connection.execute(
        "DELETE FROM run_leases WHERE run NOT IN (SELECT id FROM runs) AND acquired_at < ?1",
        [now.millis().saturating_sub(grace)],
    )?;
    connection.execute(
        "DELETE FROM source_texts WHERE digest NOT IN (SELECT text FROM run_sources)
             AND substr(text, 1, length(?1)) <> ?1",
        [HEAD],
    )?;
    connection.execute_batch(
        "DELETE FROM cache WHERE run NOT IN (SELECT id FROM runs)
             AND key NOT IN (SELECT key FROM cache_lookups);",
    )
}

/// Removes the folders of pruned runs and the files that nothing names; returns the number of
/// files. Where the limit on stored files is exceeded, runs beyond it name none. A file that cannot be removed now is left for
/// the next time.
pub(crate) fn files(folder: &StateFolder, now: Moment, is_limited: bool) -> Result<usize, StoreError> {
    let reader = StoreReader::open(folder.path())?;
    let named = reader.query(|connection| named(connection, is_limited))?;
    // The files that a live run has written since it was taken may not be recorded yet, even if the
    // clock was set since.
    let begun = reader.leases().held()?.into_iter().map(|(_, lease)| lease.acquired_at);
    let now = begun.min().map_or(now, |begun| begun.min(now));
    let age = Duration::from_millis(now.millis().unsigned_abs());
    let before = (UNIX_EPOCH + age).checked_sub(GRACE).unwrap_or(UNIX_EPOCH);
    for path in entries(&folder.path().join("runs")) {
        let recorded = file_name(&path).is_some_and(|run| named.contains(run));
        if !recorded && is_older(&path, before) {
            let _ = fs::remove_dir_all(&path);
        }
    }
    let upgraded = (UNIX_EPOCH + age).checked_sub(COPY_AGE).unwrap_or(UNIX_EPOCH);
    for copy in entries(&folder.upgrades()) {
        if is_older(&copy, upgraded) {
            let _ = fs::remove_file(&copy);
        }
    }
    let mut removed = 0;
    for shelf in entries(&folder.blobs()) {
        for path in entries(&shelf) {
            let digest = file_name(&shelf).zip(file_name(&path)).map(|(a, b)| format!("{a}{b}"));
            let unnamed = digest.is_some_and(|digest| !named.contains(&digest));
            if unnamed && is_older(&path, before) {
                failpoint::point("sweep.before");
                removed += usize::from(fs::remove_file(&path).is_ok());
                failpoint::point("sweep.after");
            }
        }
        // A copy that was never finished, beside the shelves.
        if shelf.is_file() && is_older(&shelf, before) {
            let _ = fs::remove_file(&shelf);
        }
    }
    Ok(removed)
}

/// Returns the ids of runs and the digests of files the database names, except, if the files are limited, those of the
/// artifacts of runs that lost them.
fn named(connection: &Connection, is_limited: bool) -> rusqlite::Result<BTreeSet<String>> {
    let gone = if is_limited { gone(connection)?.files } else { BTreeSet::new() };
    let all = "SELECT id FROM runs UNION SELECT value ->> '$.digest' FROM cache, json_each(cache.artifacts)
         UNION SELECT value ->> '$.digest' FROM cache, json_each(cache.files)";
    let mut named: BTreeSet<String> =
        connection.prepare(all)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut artifacts = connection.prepare("SELECT run, digest FROM artifacts")?;
    let mut rows = artifacts.query([])?;
    while let Some(row) = rows.next()? {
        if !gone.contains(&row.get(0)?) {
            named.insert(row.get(1)?);
        }
    }
    Ok(named)
}

fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let found = fs::read_dir(dir).into_iter().flatten().flatten();
    found.map(|entry| entry.path())
}

fn is_older(path: &Path, before: SystemTime) -> bool {
    let changed = path.metadata().and_then(|file| file.modified());
    changed.is_ok_and(|changed| changed < before)
}

fn file_name(path: &Path) -> Option<&str> {
    path.file_name().and_then(std::ffi::OsStr::to_str)
}

/// Returns the outermost runs, by id, that a reconciliation under way needs, that a run which has not ended repeats or
/// reuses, or that can be undone, each for itself or for a run nested in it.
pub(crate) fn needed(connection: &Connection, now: Moment) -> rusqlite::Result<BTreeSet<String>> {
    let sql = "SELECT run FROM reconciliations WHERE ended IS NULL
         UNION SELECT retry_of FROM runs WHERE outcome IS NULL AND retry_of IS NOT NULL
         UNION SELECT reused_from FROM runs JOIN steps ON steps.run = key
             WHERE outcome IS NULL AND reused_from IS NOT NULL";
    let mut found: BTreeSet<String> =
        connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let offers = "SELECT id, undo FROM runs WHERE undo IS NOT NULL";
    let mut offers = connection.prepare_cached(offers)?;
    let mut rows = offers.query([])?;
    while let Some(row) = rows.next()? {
        let (id, JsonColumn(offer)): (String, JsonColumn<UndoOffer>) = (row.get(0)?, row.get(1)?);
        if can_be_undone(connection, &id, &offer, now)? {
            found.insert(id);
        }
    }
    let parents: BTreeMap<String, String> = connection
        .prepare_cached("SELECT id, parent FROM runs WHERE parent IS NOT NULL")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    Ok(found.into_iter().map(|run| outermost(run, &parents)).collect())
}

/// True if a run can be undone now, or is being undone.
fn can_be_undone(
    connection: &Connection,
    run: &str,
    offer: &UndoOffer,
    now: Moment,
) -> rusqlite::Result<bool> {
    let undone_by = undos(connection, run)?;
    Ok(matches!(offer.decide(&undone_by, now), Ok(()) | Err(UndoRefusal::UnderWay(_))))
}

/// Returns the outermost of the runs a run is nested in; itself, if it is in none.
pub(crate) fn outermost(run: String, parents: &BTreeMap<String, String>) -> String {
    let mut run = run;
    // A parent is recorded before the run nested in it, so this ends.
    for _ in 0..parents.len() {
        match parents.get(&run) {
            Some(parent) => run.clone_from(parent),
            None => break,
        }
    }
    run
}
