use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;
use crate::machine::{Artifact, Place};
use crate::model::Object;
use crate::name::RunId;
use crate::time::Moment;

/// A result that may be used again.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheEntry {
    /// The digest of everything the result depends on.
    pub key: Digest,
    /// The run that did the work.
    pub run: RunId,
    /// The place that did it.
    pub place: Place,
    /// Its outputs.
    pub outputs: Object,
    /// Its artifacts.
    pub artifacts: Vec<Artifact>,
    /// The files that it made in the workspace.
    pub files: Vec<KeptFile>,
    /// When it was kept.
    pub created: Moment,
}

/// A file of a kept result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFile {
    /// Its path, relative to the workspace.
    pub path: String,
    /// SHA-256 of its content, under which the content is kept.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// Its permission bits.
    pub mode: u32,
}

/// A question to the cache, recorded so that a later run can say what changed.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheLookup {
    /// The run that asked.
    pub run: RunId,
    /// The place that asked.
    pub place: Place,
    /// The key of its item.
    pub item_key: Option<String>,
    /// The key that was looked for.
    pub key: Digest,
    /// Whether it was found.
    pub hit: bool,
    /// What the key was computed from.
    pub parts: Value,
}
