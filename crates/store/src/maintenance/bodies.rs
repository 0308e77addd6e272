//! The comparison of everything stored under a digest with that digest.

use std::{
    collections::BTreeSet,
    fs::File,
    path::{Path, PathBuf},
};

use walkdir::WalkDir;

use crate::{
    db::reader::StoreReader,
    files::{blobs::BlobStore, folder::StoreDurability},
    log::{state_event, state_event::GoneBodiesOnDemand},
};
use wf_base::digest::Sha256Digest;

/// A body that does not match its digest, or is gone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyFault {
    /// The bodies of events are gone, and no record says that they were pruned.
    #[error("run {0} has events without a body, but the log records no pruning of it")]
    Unpruned(i64),
    #[error("text {0} was modified")]
    TextAltered(String),
    /// A text a run was recorded with is gone.
    #[error("text `{path}` of run {run} is missing, but the log records no pruning of it")]
    TextGone {
        /// The run, by its id.
        run: String,
        path: String,
    },
    /// A stored file was altered.
    #[error("stored file {} was modified", .0.display())]
    FileAltered(PathBuf),
    /// The stored file of an artifact is gone.
    #[error("the stored file of `{path}` of run {run} is missing, but the log records no pruning of it")]
    FileGone {
        /// The run, by its id.
        run: String,
        /// The artifact's path in the workspace.
        path: String,
    },
}

/// Compares stored texts and files with their digests; every body an event names must exist. Behind an event, by its
/// number: those of runs with later events; from 0 on: all.
pub(crate) fn stored(reader: &StoreReader, after: i64) -> rusqlite::Result<Vec<BodyFault>> {
    let mut faults = texts(reader, after)?;
    let kept = match after {
        0 => all_files(reader, &mut faults),
        _ => BTreeSet::new(),
    };
    named_files(reader, after, &kept, &mut faults)?;
    Ok(faults)
}

/// Returns the runs with an event behind one without body and that the log does not record as pruned.
pub(crate) fn events(reader: &StoreReader, after: i64) -> rusqlite::Result<Vec<BodyFault>> {
    let gone = state_event::gone(reader.connection())?;
    let sql = "SELECT DISTINCT run FROM events WHERE body IS NULL AND seq > ?1 ORDER BY run";
    let mut statement = reader.connection().prepare(sql)?;
    let runs: Vec<i64> = statement.query_map([after], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let unpruned = runs.into_iter().filter(|run| !gone.keys.contains(run));
    Ok(unpruned.map(BodyFault::Unpruned).collect())
}

/// The condition that a run has events behind one, if it is not the beginning.
const RUN_GOES_ON: &str = "(?1 = 0 OR run IN (SELECT run FROM events WHERE seq > ?1))";

fn texts(reader: &StoreReader, after: i64) -> rusqlite::Result<Vec<BodyFault>> {
    let sql = format!(
        "SELECT digest, text FROM source_texts
         WHERE ?1 = 0 OR digest IN (SELECT text FROM main.run_sources WHERE {RUN_GOES_ON})"
    );
    let mut statement = reader.connection().prepare(&sql)?;
    let mut rows = statement.query([after])?;
    let mut faults = Vec::new();
    while let Some(row) = rows.next()? {
        let found = Sha256Digest::of_bytes(row.get_ref(1)?.as_str()?.as_bytes());
        let named = row.get_ref(0)?.as_blob()?;
        if found.bytes() != named {
            let named = named.iter().map(|byte| format!("{byte:02x}")).collect();
            faults.push(BodyFault::TextAltered(named));
        }
    }
    let gone = format!(
        "SELECT id, run_sources.path FROM main.run_sources JOIN main.runs ON key = run
         WHERE {RUN_GOES_ON} AND text NOT IN (SELECT digest FROM source_texts) ORDER BY run, position"
    );
    let mut statement = reader.connection().prepare(&gone)?;
    let gone = statement.query_map([after], |row| {
        let (run, path) = (row.get(0)?, row.get(1)?);
        Ok(BodyFault::TextGone { run, path })
    })?;
    for fault in gone {
        faults.push(fault?);
    }
    Ok(faults)
}

/// Compares all stored files with their digests, and returns those that are as they were.
fn all_files(reader: &StoreReader, faults: &mut Vec<BodyFault>) -> BTreeSet<PathBuf> {
    let dir = reader.folder().blobs();
    let mut kept = BTreeSet::new();
    // A file outside of the shelves is a copy that was never finished.
    let entries = WalkDir::new(&dir).min_depth(2).sort_by_file_name();
    for entry in entries.into_iter().flatten() {
        let named = entry.path().strip_prefix(&dir).unwrap_or(entry.path());
        let named: String = named.iter().filter_map(|part| part.to_str()).collect();
        let found = entry.file_type().is_file();
        if found && digest_of(entry.path()).is_some_and(|found| found.to_string() == named) {
            kept.insert(entry.into_path());
        } else {
            faults.push(BodyFault::FileAltered(entry.into_path()));
        }
    }
    kept
}

fn digest_of(path: &Path) -> Option<Sha256Digest> {
    File::open(path).and_then(Sha256Digest::of_reader).ok()
}

/// Compares the files named by runs with events behind one, unless they are known to be as they were.
fn named_files(
    reader: &StoreReader,
    after: i64,
    kept: &BTreeSet<PathBuf>,
    faults: &mut Vec<BodyFault>,
) -> rusqlite::Result<()> {
    let blobs = BlobStore::new(reader.folder().blobs(), StoreDurability::Normal);
    let mut gone = GoneBodiesOnDemand::default();
    let sql = format!(
        "SELECT id, artifacts.path, digest, key FROM main.artifacts JOIN main.runs ON key = run WHERE {RUN_GOES_ON}"
    );
    let mut statement = reader.connection().prepare(&sql)?;
    let mut rows = statement.query([after])?;
    while let Some(row) = rows.next()? {
        let digest: Option<Sha256Digest> = row.get_ref(2)?.as_str()?.parse().ok();
        let path = digest.map(|digest| blobs.path(&digest));
        if let Some(path) = path.filter(|path| path.exists()) {
            // Where all files were read, an altered one is reported already.
            if after > 0 && !kept.contains(&path) && digest_of(&path) != digest {
                faults.push(BodyFault::FileAltered(path));
            }
        } else if !gone.get(reader.connection())?.files.contains(&row.get(3)?) {
            let (run, path) = (row.get(0)?, row.get(1)?);
            faults.push(BodyFault::FileGone { run, path });
        }
    }
    Ok(())
}
