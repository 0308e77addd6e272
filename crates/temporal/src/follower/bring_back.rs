//! The artifacts of a run, brought back into the workspace it was started from.

use std::{collections::BTreeMap, path::Path};

use wf_core::machine::EventKind;

use crate::{
    files::{
        objects::{ObjectError, Objects},
        tree::{Tree, TreeEntry, TreeNode, TreeRef, place_inside},
        tree_files::{place_entry, read_entry},
    },
    messages::order::LogEntry,
};

/// Writes the artifacts of a run into the workspace, as they are at its end. A file changed here meanwhile is left
/// alone. Returns the paths of those.
pub async fn bring_back(
    root: &Path,
    log: &[LogEntry],
    tree: &TreeRef,
    objects: &Objects,
) -> Result<Vec<String>, ObjectError> {
    let Tree(base) = objects.get_json(&tree.base).await?;
    let latest = latest_entries(tree, objects).await?;
    let mut results = Vec::new();
    for path in artifact_paths(log) {
        let Some(Some(entry)) = latest.get(&path) else { continue };
        let place = place_inside(root, &path)?;
        let here = read_entry(&place)?;
        if here.as_ref() == Some(entry) {
            continue;
        }
        if here.as_ref() != base.get(&path) {
            results.push(path);
            continue;
        }
        let content = match entry {
            TreeEntry::File { digest, .. } => Some(objects.get_bytes(digest).await?),
            TreeEntry::Link { .. } => None,
        };
        let written = place_entry(&place, entry, content.as_deref().map(Vec::as_slice));
        written.map_err(|cause| ObjectError::File { path, cause })?;
    }
    Ok(results)
}

/// Returns the paths of the artifacts of all attempts and cached results, in order.
fn artifact_paths(log: &[LogEntry]) -> Vec<String> {
    let recorded_artifacts = log.iter().flat_map(|entry| match &entry.event.fact {
        EventKind::AttemptEnded { artifacts, .. } => artifacts.as_slice(),
        EventKind::CacheHit { found, .. } => found.artifacts.as_slice(),
        _ => &[],
    });
    let mut paths: Vec<String> = recorded_artifacts.map(|artifact| artifact.path.clone()).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Returns the last entry of each path the run changed.
pub(crate) async fn latest_entries(
    tree: &TreeRef,
    objects: &Objects,
) -> Result<BTreeMap<String, Option<TreeEntry>>, ObjectError> {
    let (mut next, mut latest) = (tree.last, BTreeMap::new());
    while let Some(digest) = next {
        let node: TreeNode = objects.get_json(&digest).await?;
        for (path, change) in node.change.0 {
            // The newest comes first.
            latest.entry(path).or_insert(change.after);
        }
        next = node.before;
    }
    Ok(latest)
}
