//! The artifacts of a run: each with its step, and whether it is still as it was checked.

use std::collections::{BTreeMap, btree_map::Entry};

use serde::Serialize;

use super::{
    content::{MAX_IMAGE_BYTES, MAX_SHOWN_BYTES},
    view::RunScope,
};
use crate::CommandError;
use wf_base::{digest::Sha256Digest, units};
use wf_core::machine::{Standing, StepState, TaskId};
use wf_store::StepRow;

/// The most artifacts of a page.
const PAGE_FILES: usize = 200;

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
            is_shown: artifact.size <= most_shown(&artifact.path),
            is_removed: removed.contains(&artifact.digest),
        }
    });
    let rows: Vec<FileRow> = rows.collect();
    Ok(RunFileList { more: page.total.saturating_sub(rows.len()), rows })
}

/// Returns the size up to which a file is shown: that of a picture is larger, which the name of one promises.
fn most_shown(path: &str) -> u64 {
    let extension = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match extension.as_str() {
        "png" | "jpg" | "jpeg" | "gif" | "webp" => MAX_IMAGE_BYTES,
        _ => MAX_SHOWN_BYTES,
    }
}

/// Returns whether a file is still what was checked; `None`: its step is not verified.
fn evidence_of(step: &StepRow, path: &str) -> Option<&'static str> {
    let is_confirmed = matches!(step.standing, Standing::Verified | Standing::Plausible);
    match &step.stale {
        Some(stale) if stale == path => Some("stale"),
        _ => (step.state == StepState::Succeeded && is_confirmed).then_some("fresh"),
    }
}
