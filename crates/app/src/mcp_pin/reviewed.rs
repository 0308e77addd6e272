use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::ToolListing;
use wf_base::{digest::Sha256Digest, name::Name};

/// The text of a pinned list.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReviewedList {
    digest: Sha256Digest,
    text: String,
}

fn path(state: &Path, server: &Name) -> PathBuf {
    state.join("mcp").join(format!("{server}.json"))
}

/// Returns the text of the list with a digest, if it is known.
pub(super) fn read(state: &Path, server: &Name, digest: Sha256Digest) -> Option<String> {
    let bytes = fs::read(path(state, server)).ok()?;
    let list: ReviewedList = serde_json::from_slice(&bytes).ok()?;
    (list.digest == digest).then_some(list.text)
}

/// Keeps the text of a list for the next review.
pub(super) fn keep(state: &Path, server: &Name, listing: &ToolListing) -> std::io::Result<()> {
    let path = path(state, server);
    let dir = path.parent().unwrap_or(state);
    fs::create_dir_all(dir)?;
    let list = ReviewedList { digest: listing.digest, text: listing.text() };
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(&serde_json::to_vec(&list).unwrap_or_default())?;
    file.persist(&path).map(drop).map_err(|failed| failed.error)
}
