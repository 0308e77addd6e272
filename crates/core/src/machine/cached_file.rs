use serde::{Deserialize, Serialize};
use wf_base::digest::Sha256Digest;

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
