//! Whatever is stored under a digest, compared with it.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;

use walkdir::WalkDir;

use super::{Blobs, Durability, Reader, uses};
use crate::digest::Digest;

/// A body that is not what its digest says, or is gone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyFault {
    /// The bodies of events are gone, and no record says that they were pruned.
    #[error("run {0} has events without a body, and the log does not say that it was pruned")]
    Unpruned(i64),
    /// A text is another.
    #[error("the text {0} was altered")]
    TextAltered(String),
    /// A text that a run was recorded with is gone.
    #[error("the text `{path}` of run {run} is gone, and the log does not say that it was pruned")]
    TextGone {
        /// The run, by its id.
        run: String,
        /// Its path.
        path: String,
    },
    /// A kept file is another.
    #[error("the kept file {} was altered", .0.display())]
    FileAltered(PathBuf),
    /// A kept file is gone that an attempt left.
    #[error(
        "the kept file of `{path}`, which run {run} left, is gone, and the log does not say that it was pruned"
    )]
    FileGone {
        /// The run, by its id.
        run: String,
        /// Its path in the workspace.
        path: String,
    },
}

/// Hashes every stored text and file and compares; what an event names must be there.
pub(super) fn stored(reader: &Reader) -> rusqlite::Result<Vec<BodyFault>> {
    let mut faults = texts(reader)?;
    faults.extend(files(reader)?);
    Ok(faults)
}

/// The runs with an event without a body of which the log does not say that they were pruned.
pub(super) fn events(reader: &Reader) -> rusqlite::Result<Vec<BodyFault>> {
    let pruned = uses::pruned(reader.connection())?;
    let sql = "SELECT DISTINCT run FROM events WHERE body IS NULL ORDER BY run";
    let mut statement = reader.connection().prepare(sql)?;
    let runs: Vec<i64> = statement
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let gone = runs.into_iter().filter(|run| !pruned.contains(run));
    Ok(gone.map(BodyFault::Unpruned).collect())
}

fn texts(reader: &Reader) -> rusqlite::Result<Vec<BodyFault>> {
    let mut statement = reader
        .connection()
        .prepare("SELECT digest, text FROM texts")?;
    let mut rows = statement.query([])?;
    let mut faults = Vec::new();
    while let Some(row) = rows.next()? {
        let found = Digest::of(row.get_ref(1)?.as_str()?.as_bytes());
        let named = row.get_ref(0)?.as_blob()?;
        if found.bytes() != named {
            let named = named.iter().map(|byte| format!("{byte:02x}")).collect();
            faults.push(BodyFault::TextAltered(named));
        }
    }
    let gone = "SELECT id, sources.path FROM main.sources JOIN main.runs ON key = run
                WHERE text NOT IN (SELECT digest FROM texts) ORDER BY run, position";
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

fn files(reader: &Reader) -> rusqlite::Result<Vec<BodyFault>> {
    let (mut faults, dir) = (Vec::new(), reader.folder().blobs());
    let mut kept = BTreeSet::new();
    // What lies beside the shelves is a copy that was never finished.
    let entries = WalkDir::new(&dir).min_depth(2).sort_by_file_name();
    for entry in entries.into_iter().flatten() {
        let named = entry.path().strip_prefix(&dir).unwrap_or(entry.path());
        let named: String = named.iter().filter_map(|part| part.to_str()).collect();
        let found = entry.file_type().is_file();
        let found = found.then(|| File::open(entry.path()).and_then(Digest::of_reader).ok());
        if found
            .flatten()
            .is_some_and(|found| found.to_string() == named)
        {
            kept.insert(entry.into_path());
        } else {
            faults.push(BodyFault::FileAltered(entry.into_path()));
        }
    }
    let blobs = Blobs::new(dir, Durability::Normal);
    let sql = "SELECT id, artifacts.path, digest FROM main.artifacts JOIN main.runs ON key = run";
    let mut statement = reader.connection().prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let digest: Option<Digest> = row.get_ref(2)?.as_str()?.parse().ok();
        let path = digest.map(|digest| blobs.path(&digest));
        // One that was altered is told already.
        if path.is_none_or(|path| !kept.contains(&path) && !path.exists()) {
            let (run, path) = (row.get(0)?, row.get(1)?);
            faults.push(BodyFault::FileGone { run, path });
        }
    }
    Ok(faults)
}
