//! The artifacts of a run, and the text of one.
//!
//! A file is another's: its text is shown escaped and only if it is text, and everything else is saved, never shown.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    io::Read as _,
};

use serde::Serialize;

use super::view::RunScope;
use crate::{
    CommandError,
    records::{OpenedArtifact, open_artifact_with},
    state::reader::StateReader,
};
use wf_base::{digest::Sha256Digest, name::RunId, units};
use wf_core::machine::{Standing, StepState, TaskId};
use wf_store::StepRow;

/// The most artifacts of a page.
const PAGE_FILES: usize = 200;

/// The largest file whose text is shown, in bytes.
const MAX_SHOWN_BYTES: u64 = 1 << 20;

/// The artifacts of a run.
#[derive(Debug, Serialize)]
pub struct RunFileList {
    pub rows: Vec<FileRow>,
    /// The number of further artifacts.
    pub more: usize,
}

/// An artifact of a run.
#[derive(Debug, Serialize)]
pub struct FileRow {
    pub path: String,
    pub digest: Sha256Digest,
    /// Its size for people: `3.4 KiB`.
    pub size: String,
    /// The task that left it, as it is shown to people.
    pub task: String,
    /// The task, as an address names it.
    pub address: String,
    /// `fresh`: it is as it was checked; `stale`: it changed after that; absent: no check has confirmed its step.
    pub evidence: Option<&'static str>,
    /// True if it may be shown: it is not too large.
    pub is_shown: bool,
    /// True if the retention removed its stored content.
    pub is_removed: bool,
}

/// The text of an artifact.
#[derive(Debug, Serialize)]
pub struct FileText {
    pub run: RunId,
    pub digest: Sha256Digest,
    pub path: String,
    pub size: String,
    /// Its text; absent: it is not text, or too large.
    pub text: Option<String>,
}

/// Returns the first artifacts of a run.
pub(super) fn files(scope: &RunScope<'_>) -> Result<RunFileList, CommandError> {
    let store = scope.store();
    let page = store.artifacts().first(scope.run, PAGE_FILES)?;
    let removed = store.artifacts().pruned(page.artifacts.iter().map(|row| row.artifact.digest))?;
    let mut tasks: BTreeMap<TaskId, Option<StepRow>> = BTreeMap::new();
    for row in &page.artifacts {
        let task_id = TaskId { step: row.step.clone(), item: row.item };
        if let Entry::Vacant(place) = tasks.entry(task_id) {
            let found = store.steps().find(scope.run, place.key())?;
            place.insert(found);
        }
    }
    let rows = page.artifacts.iter().map(|row| {
        let task_id = TaskId { step: row.step.clone(), item: row.item };
        let step = tasks.get(&task_id).and_then(Option::as_ref);
        let artifact = &row.artifact;
        FileRow {
            path: artifact.path.clone(),
            digest: artifact.digest,
            size: units::size(artifact.size),
            task: task_id.display_name(step.and_then(|step| step.item_key.as_deref())),
            address: task_id.to_string(),
            evidence: step.and_then(|step| evidence_of(step, &artifact.path)),
            is_shown: artifact.size <= MAX_SHOWN_BYTES,
            is_removed: removed.contains(&artifact.digest),
        }
    });
    let rows: Vec<FileRow> = rows.collect();
    Ok(RunFileList { more: page.total.saturating_sub(rows.len()), rows })
}

/// Returns whether a file is still what was checked; `None`: its step is not verified.
fn evidence_of(step: &StepRow, path: &str) -> Option<&'static str> {
    let is_confirmed = matches!(step.standing, Standing::Verified | Standing::Plausible);
    match &step.stale {
        Some(stale) if stale == path => Some("stale"),
        _ => (step.state == StepState::Succeeded && is_confirmed).then_some("fresh"),
    }
}

/// Returns the text of an artifact of a run, by its digest; `None`: it has none with that.
pub fn file_text(
    reader: &StateReader,
    run: &RunId,
    digest: &Sha256Digest,
) -> Result<Option<FileText>, CommandError> {
    let Some(OpenedArtifact { path, mut file }) = open_artifact_with(reader, run, digest)? else {
        return Ok(None);
    };
    let size = file.size();
    let mut bytes = Vec::new();
    if size <= MAX_SHOWN_BYTES {
        file.read_to_end(&mut bytes).map_err(|error| {
            let message = format!("cannot read the stored file: {error}");
            CommandError::new(crate::CliExitCode::State, message)
        })?;
    }
    let is_text = size <= MAX_SHOWN_BYTES && !bytes.contains(&0);
    let text = if is_text { String::from_utf8(bytes).ok() } else { None };
    Ok(Some(FileText { run: run.clone(), digest: *digest, path, size: units::size(size), text }))
}
