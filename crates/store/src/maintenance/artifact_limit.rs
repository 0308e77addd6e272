//! The limit on stored files: beyond it, those of the oldest runs are removed, and all else of the runs stays.
//!
//! Artifacts and cached results are counted once for the same content, for the newest run naming them. The files of
//! the newest run that has any stay, and those of runs other work needs.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use crate::{
    db::{reader::StoreReader, writer::WriteContext},
    error::{QueryResult, StoreError},
    events::{run_end, run_events},
    files::{
        blobs::BlobStore,
        folder::{RunRetention, StateFolder, StoreDurability},
    },
    lease::run_lease,
    log::state_event::{PrunedArtifacts, StateEvent, StateFact, gone},
    maintenance::prune::{needed, outermost},
    views::tasks::ArtifactTable,
};
use wf_base::{digest::Sha256Digest, name::RunId, time::Moment};

/// The limit, with the stored files that exceed it.
pub(crate) struct ArtifactLimit {
    /// The most bytes.
    most: u64,
    /// The sizes of the stored files, by digest.
    stored: BTreeMap<String, u64>,
}

/// The stored files of an outermost run and of those nested in it.
#[derive(Debug, Default)]
struct RunFiles {
    /// The runs that name any, by key.
    runs: BTreeMap<i64, String>,
    /// Their digests.
    files: BTreeSet<String>,
    /// True if they stay whatever the limit is.
    stays: bool,
}

impl ArtifactLimit {
    /// Returns the limit if the stored files exceed it.
    pub(super) fn exceeded(folder: &StateFolder, retention: RunRetention) -> Option<Self> {
        let most = retention.max_artifact_bytes?;
        let stored = BlobStore::new(folder.blobs(), StoreDurability::Normal).sizes();
        (stored.values().sum::<u64>() > most).then_some(Self { most, stored })
    }

    /// Records which runs have no files any more, and forgets cached results that none of the others made or looked up;
    /// returns their number.
    pub(crate) fn apply(&self, writing: &WriteContext<'_>, now: Moment) -> QueryResult<usize> {
        let connection = writing.connection;
        let known = gone(connection)?.files;
        let runs = files_of_runs(connection, now)?;
        let mut removed = Vec::new();
        for run in self.beyond(&runs) {
            let ids: BTreeSet<RunId> = run.runs.values().map(|id| RunId::from_stored(id.as_str())).collect();
            // The table proposes; what is lost for good is decided by the log.
            if is_free(connection, &ids)? && run_end::all_ended(connection, ids)? {
                removed.extend(run.runs.iter().map(|(key, id)| (*key, id.clone())));
            }
        }
        removed.retain(|(key, _)| !known.contains(key));
        if removed.is_empty() {
            return Ok(0);
        }
        let keys = known.iter().copied().chain(removed.iter().map(|(key, _)| *key)).collect();
        forget_results(connection, &keys)?;
        let runs: Vec<PrunedArtifacts> = removed
            .into_iter()
            .map(|(key, id)| PrunedArtifacts { key, id: RunId::from_stored(id) })
            .collect();
        let count = runs.len();
        run_events::add_state_event(
            writing,
            &StateEvent { at: now, fact: StateFact::ArtifactsPruned { runs } },
        )?;
        Ok(count)
    }

    /// Returns the runs whose files go, of runs from the newest to the oldest.
    fn beyond<'a>(&self, run_files: &'a [RunFiles]) -> Vec<&'a RunFiles> {
        let mut kept: BTreeSet<&str> = BTreeSet::new();
        let needed = run_files.iter().filter(|run| run.stays);
        kept.extend(needed.flat_map(|run| &run.files).map(String::as_str));
        let mut total = self.size(kept.iter().copied());
        let (mut has_newest, mut is_beyond, mut going) = (false, false, Vec::new());
        for run in run_files.iter().filter(|run| !run.stays) {
            let more = self.size(run.files.iter().map(String::as_str).filter(|file| !kept.contains(file)));
            is_beyond |= has_newest && total.saturating_add(more) > self.most;
            if more == 0 {
                continue;
            }
            if is_beyond {
                going.push(run);
            } else {
                has_newest = true;
                total = total.saturating_add(more);
                kept.extend(run.files.iter().map(String::as_str));
            }
        }
        going
    }

    /// Returns the size of files, of those stored.
    fn size<'a>(&self, files: impl Iterator<Item = &'a str>) -> u64 {
        files.filter_map(|file| self.stored.get(file)).sum()
    }
}

/// The number of runs after which stored files are measured, whatever their size.
const MEASURED_RUNS: i64 = 32;

impl ArtifactTable<&StoreReader> {
    /// True if the stored files exceed the limit. To measure them takes a look at each, so that is done after some runs, or
    /// after these have stored a part of the limit that counts.
    pub(super) fn may_exceed(self, retention: RunRetention) -> Result<bool, StoreError> {
        let Some(most) = retention.max_artifact_bytes else { return Ok(false) };
        let sql = "WITH newest AS (SELECT max(key) AS key FROM main.runs)
                   SELECT newest.key % ?1 = 0 OR
                       (SELECT total(size) FROM main.artifacts WHERE run > newest.key - ?1) >= ?2
                   FROM newest WHERE newest.key IS NOT NULL";
        #[expect(clippy::cast_precision_loss, reason = "only the order of magnitude counts")]
        let part = most as f64 / MEASURED_RUNS as f64;
        let is_due: Option<bool> = self.0.query_one(sql, (MEASURED_RUNS, part), |row| row.get(0))?;
        Ok(is_due == Some(true) && ArtifactLimit::exceeded(self.0.folder(), retention).is_some())
    }

    /// Returns the number of runs whose stored files are beyond the limit, and the bytes their removal frees.
    pub fn exceeding(self, retention: RunRetention, now: Moment) -> Result<(usize, u64), StoreError> {
        let Some(limit) = ArtifactLimit::exceeded(self.0.folder(), retention) else { return Ok((0, 0)) };
        let runs = self.0.query(|connection| files_of_runs(connection, now))?;
        let going = limit.beyond(&runs);
        let gone: BTreeSet<i64> = going.iter().flat_map(|run| run.runs.keys().copied()).collect();
        let others = runs.iter().filter(|run| !run.runs.keys().any(|key| gone.contains(key)));
        let kept: BTreeSet<&String> = others.flat_map(|run| &run.files).collect();
        let files: BTreeSet<&String> =
            going.iter().flat_map(|run| &run.files).filter(|file| !kept.contains(file)).collect();
        Ok((gone.len(), limit.size(files.into_iter().map(String::as_str))))
    }

    /// Returns the digests, of these, whose stored file is gone since it was beyond the limit.
    pub fn pruned(
        self,
        digests: impl IntoIterator<Item = Sha256Digest>,
    ) -> Result<BTreeSet<Sha256Digest>, StoreError> {
        let blobs = BlobStore::new(self.0.folder().blobs(), StoreDurability::Normal);
        let missing: BTreeSet<Sha256Digest> =
            digests.into_iter().filter(|digest| !blobs.path(digest).exists()).collect();
        if missing.is_empty() {
            return Ok(missing);
        }
        let names = || -> rusqlite::Result<_> {
            let files = gone(self.0.connection())?.files;
            let mut artifacts = self.0.connection().prepare("SELECT run, digest FROM main.artifacts")?;
            let mut rows = artifacts.query([])?;
            let mut found = BTreeSet::new();
            while let Some(row) = rows.next()? {
                if files.contains(&row.get(0)?) {
                    found.extend(
                        row.get_ref(1)?.as_str()?.parse().ok().filter(|digest| missing.contains(digest)),
                    );
                }
            }
            Ok(found)
        };
        names().map_err(|error| self.0.failed(error))
    }
}

/// True if no process works on any of these runs.
fn is_free(connection: &Connection, runs: &BTreeSet<RunId>) -> rusqlite::Result<bool> {
    for run in runs {
        if run_lease::newest(connection, run)?.is_some_and(|lease| !lease.may_be_taken) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads which files the outermost runs name, with those nested in them, from the newest to the oldest.
fn files_of_runs(connection: &Connection, now: Moment) -> rusqlite::Result<Vec<RunFiles>> {
    let needed = needed(connection, now)?;
    let (mut ids, mut parents, mut open) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
    let mut runs = connection.prepare_cached("SELECT key, id, parent, outcome IS NULL FROM runs")?;
    let mut rows = runs.query([])?;
    while let Some(row) = rows.next()? {
        let (key, id): (i64, String) = (row.get(0)?, row.get(1)?);
        if let Some(parent) = row.get::<_, Option<String>>(2)? {
            parents.insert(id.clone(), parent);
        }
        if row.get(3)? {
            open.insert(id.clone());
        }
        ids.insert(key, id);
    }
    let open: BTreeSet<String> = open.into_iter().map(|run| outermost(run, &parents)).collect();
    let mut found: BTreeMap<String, RunFiles> = BTreeMap::new();
    let mut newest = BTreeMap::new();
    let mut files = connection.prepare_cached(NAMED_FILES)?;
    let mut rows = files.query([])?;
    while let Some(row) = rows.next()? {
        let (key, digest): (i64, String) = (row.get(0)?, row.get(1)?);
        let Some(id) = ids.get(&key) else { continue };
        let root = outermost(id.clone(), &parents);
        let of_run = found.entry(root.clone()).or_default();
        of_run.stays = needed.contains(&root) || open.contains(&root);
        of_run.runs.insert(key, id.clone());
        of_run.files.insert(digest);
        newest.insert(key, root);
    }
    let mut ordered = Vec::new();
    for root in newest.into_values().rev() {
        ordered.extend(found.remove(&root));
    }
    Ok(ordered)
}

/// The query of the files of runs: their artifacts, and those of the cached results they made or looked up.
const NAMED_FILES: &str = "WITH cached (result, run, digest) AS (
         SELECT cache.key, run, value ->> '$.digest' FROM cache, json_each(cache.artifacts)
         UNION SELECT cache.key, run, value ->> '$.digest' FROM cache, json_each(cache.files))
     SELECT run, digest FROM artifacts
     UNION SELECT runs.key, digest FROM cached JOIN runs ON runs.id = cached.run
     UNION SELECT runs.key, digest FROM cached JOIN cache_lookups ON cache_lookups.key = result
         JOIN runs ON runs.id = cache_lookups.run";

/// Forgets the cached results that only these runs, or runs pruned, made and looked up.
fn forget_results(connection: &Connection, keys: &BTreeSet<i64>) -> rusqlite::Result<()> {
    let keys = serde_json::to_string(keys).unwrap_or_default();
    let kept = "SELECT id FROM runs WHERE key NOT IN (SELECT value FROM json_each(?1))";
    let sql = format!(
        "DELETE FROM cache WHERE run NOT IN ({kept})
             AND key NOT IN (SELECT key FROM cache_lookups WHERE run IN ({kept}))"
    );
    connection.execute(&sql, [keys]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::{ArtifactLimit, RunFiles};

    const NONE: [i64; 0] = [];

    /// A run that names files; `!` in front: it is needed.
    fn run(text: &str, key: i64) -> RunFiles {
        let files = text.trim_start_matches('!').chars().map(String::from).collect();
        RunFiles { runs: [(key, key.to_string())].into(), files, stays: text.starts_with('!') }
    }

    /// Returns the places, from the newest, of the runs whose files go. A file has 10 bytes; `z` is not stored any more.
    fn beyond(most: u64, newest_first: &[&str]) -> Vec<i64> {
        let run_files: Vec<RunFiles> = (0..).zip(newest_first).map(|(key, text)| run(text, key)).collect();
        let stored = ('a'..='h').map(|name| (name.to_string(), 10)).collect();
        let going = ArtifactLimit { most, stored };
        going.beyond(&run_files).iter().flat_map(|run| run.runs.keys().copied()).collect()
    }

    #[test]
    fn the_files_of_the_oldest_runs_go() {
        assert_eq!(beyond(30, &["a", "b", "c"]), NONE);
        assert_eq!(beyond(29, &["a", "b", "c"]), [2]);
        assert_eq!(
            beyond(20, &["a", "bc", "d", "e"]),
            [1, 2, 3],
            "older ones go, too, though they have room"
        );
        assert_eq!(beyond(0, &["a", "b"]), [1], "the files of the newest run stay");
        assert_eq!(beyond(5, &["z", "a", "b"]), [2]);
    }

    #[test]
    fn content_counts_once_for_the_newest_run_that_names_it() {
        assert_eq!(beyond(20, &["a", "ab", "ab", "b"]), NONE);
        assert_eq!(beyond(10, &["a", "ab", "a", "b"]), [1, 3], "what a newer run names stays");
        assert_eq!(beyond(20, &["a", "bz", "z"]), NONE, "what is gone already is not removed again");
    }

    #[test]
    fn what_other_work_needs_stays_and_counts() {
        assert_eq!(beyond(20, &["a", "b", "!c"]), [1]);
        assert_eq!(beyond(20, &["a", "!bcd", "e", "b"]), [2]);
    }
}
