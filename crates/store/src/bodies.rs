//! The comparison of everything stored under a digest with that digest.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;

use walkdir::WalkDir;

use super::{BlobStore, StoreDurability, StoreReader, state_event};
use wf_base::digest::Sha256Digest;

/// A body that does not match its digest, or is gone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyFault {
    /// The bodies of events are gone, and no record says that they were pruned.
    #[error("run {0} has events without a body, but the log records no pruning of it")]
    Unpruned(i64),
    /// A text was altered.
    #[error("text {0} was modified")]
    TextAltered(String),
    /// A text that a run was recorded with is gone.
    #[error("text `{path}` of run {run} is missing, but the log records no pruning of it")]
    TextGone {
        /// The run, by its id.
        run: String,
        /// Its path.
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

/// Compares every stored text and file with its digest; every body that an event names must exist.
pub(super) fn stored(reader: &StoreReader) -> rusqlite::Result<Vec<BodyFault>> {
    let mut faults = texts(reader)?;
    faults.extend(files(reader)?);
    Ok(faults)
}

/// Returns the runs with an event without a body that the log does not record as pruned.
pub(super) fn events(reader: &StoreReader) -> rusqlite::Result<Vec<BodyFault>> {
    let gone = state_event::gone(reader.connection())?;
    let sql = "SELECT DISTINCT run FROM events WHERE body IS NULL ORDER BY run";
    let mut statement = reader.connection().prepare(sql)?;
    let runs: Vec<i64> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let unpruned = runs.into_iter().filter(|run| !gone.keys.contains(run));
    Ok(unpruned.map(BodyFault::Unpruned).collect())
}

fn texts(reader: &StoreReader) -> rusqlite::Result<Vec<BodyFault>> {
    let mut statement = reader.connection().prepare("SELECT digest, text FROM source_texts")?;
    let mut rows = statement.query([])?;
    let mut faults = Vec::new();
    while let Some(row) = rows.next()? {
        let found = Sha256Digest::of_bytes(row.get_ref(1)?.as_str()?.as_bytes());
        let named = row.get_ref(0)?.as_blob()?;
        if found.bytes() != named {
            let named = named.iter().map(|byte| format!("{byte:02x}")).collect();
            faults.push(BodyFault::TextAltered(named));
        }
    }
    let gone = "SELECT id, run_sources.path FROM main.run_sources JOIN main.runs ON key = run
                WHERE text NOT IN (SELECT digest FROM source_texts) ORDER BY run, position";
    let mut statement = reader.connection().prepare(gone)?;
    let gone = statement.query_map([], |row| {
        let (run, path) = (row.get(0)?, row.get(1)?);
        Ok(BodyFault::TextGone { run, path })
    })?;
    for fault in gone {
        faults.push(fault?);
    }
    Ok(faults)
}

fn files(reader: &StoreReader) -> rusqlite::Result<Vec<BodyFault>> {
    let (mut faults, dir) = (Vec::new(), reader.folder().blobs());
    let mut kept = BTreeSet::new();
    // A file outside of the shelves is a copy that was never finished.
    let entries = WalkDir::new(&dir).min_depth(2).sort_by_file_name();
    for entry in entries.into_iter().flatten() {
        let named = entry.path().strip_prefix(&dir).unwrap_or(entry.path());
        let named: String = named.iter().filter_map(|part| part.to_str()).collect();
        let found = entry.file_type().is_file();
        let found = found.then(|| File::open(entry.path()).and_then(Sha256Digest::of_reader).ok());
        if found.flatten().is_some_and(|found| found.to_string() == named) {
            kept.insert(entry.into_path());
        } else {
            faults.push(BodyFault::FileAltered(entry.into_path()));
        }
    }
    let blobs = BlobStore::new(dir, StoreDurability::Normal);
    let sql = "SELECT id, artifacts.path, digest FROM main.artifacts JOIN main.runs ON key = run";
    let mut statement = reader.connection().prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let digest: Option<Sha256Digest> = row.get_ref(2)?.as_str()?.parse().ok();
        let path = digest.map(|digest| blobs.path(&digest));
        // An altered file is reported already.
        if path.is_none_or(|path| !kept.contains(&path) && !path.exists()) {
            let (run, path) = (row.get(0)?, row.get(1)?);
            faults.push(BodyFault::FileGone { run, path });
        }
    }
    Ok(faults)
}
