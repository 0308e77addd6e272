use serde::{Deserialize, Serialize};

use super::TaskId;
use wf_base::digest::Sha256Digest;

/// A file that an attempt left, stored under its digest, or that it was checked with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Artifact {
    /// Its path, relative to the workspace.
    pub path: String,
    /// SHA-256 of its content.
    pub digest: Sha256Digest,
    /// Its size in bytes.
    pub size: u64,
    /// Of evidence that only `writes` lists, which is not stored: the steps, and the items of its own step, that declare the
    /// file, too. It is evidence until an attempt of another one of these tasks begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_by: Option<Vec<TaskId>>,
}

impl Artifact {
    /// True for evidence that only `writes` lists.
    pub fn is_product(&self) -> bool {
        self.released_by.is_some()
    }

    /// True if it is evidence of another task only until this one begins.
    pub fn is_released_by(&self, task: &TaskId) -> bool {
        self.released_by.iter().flatten().any(|declaring| declaring.contains(task))
    }
}
