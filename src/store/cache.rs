use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Sha256Digest;
use crate::machine::{Artifact, TaskId};
use crate::model::JsonObject;
use crate::name::RunId;
use crate::time::Moment;

/// A result that may be reused.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheEntry {
    /// The digest of everything the result depends on.
    pub key: Sha256Digest,
    /// The run that produced the result.
    pub run: RunId,
    /// The task that produced the result.
    pub place: TaskId,
    /// The outputs of the task.
    pub outputs: JsonObject,
    /// The artifacts of the task.
    pub artifacts: Vec<Artifact>,
    /// The files that the task made in the workspace.
    pub files: Vec<CachedFile>,
    /// The time at which it was stored.
    pub created: Moment,
}

/// A file of a stored result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedFile {
    /// The path, relative to the workspace.
    pub path: String,
    /// SHA-256 of the content, under which it is stored.
    pub digest: Sha256Digest,
    /// The size in bytes.
    pub size: u64,
    /// The permission bits.
    pub mode: u32,
}

/// A lookup in the cache, recorded so that a later run can report the changes.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheLookup {
    /// The run that asked.
    pub run: RunId,
    /// The task that asked.
    pub place: TaskId,
    /// The key of its item.
    pub item_key: Option<String>,
    /// The key looked up.
    pub key: Sha256Digest,
    /// True if the key was found.
    pub hit: bool,
    /// The parts that the key was computed from.
    pub parts: Value,
}
