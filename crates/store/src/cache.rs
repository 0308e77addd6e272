use serde_json::Value;

use wf_base::digest::Sha256Digest;
use wf_base::name::RunId;
use wf_base::time::Moment;
use wf_core::machine::{Artifact, CachedFile, TaskId};
use wf_model::JsonObject;

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
