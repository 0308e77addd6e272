//! The evidence of a result: files, the isolation of the work, and the workspace before it.

use serde::{Deserialize, Serialize};

use crate::machine::words::{PinnedFile, TaskId};
use wf_base::{digest::Sha256Digest, keywords};

keywords! {
    /// A protection enforced by a sandbox.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum IsolationKind {
        /// A private view of the files: anything not granted does not exist.
        Files = "files",
        /// A private network without peers.
        Network = "network",
        /// No process outside can be seen or signalled.
        Processes = "processes",
        /// Private user ids: no rights outside.
        Users = "users",
        /// The kernel refuses paths without a grant, regardless of mounts.
        Landlock = "landlock",
        /// The kernel refuses needless system calls.
        Seccomp = "seccomp",
        /// Writes go to a temporary layer.
        Scratch = "scratch",
        /// A limit on memory.
        Memory = "memory",
        /// A limit on CPU time.
        Cpu = "cpu",
        /// A limit on the number of processes.
        Count = "count",
    }
}

/// The workspace as it was when the run began, for its checks to compare with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Baseline {
    /// SHA-256 of the list of its files, stored with the run: the name and the system
    /// metadata of each.
    pub manifest: Sha256Digest,
    /// The number of files and folders.
    pub entries: u64,
    /// The files named by checks and shown to them in their original state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<PinnedFile>,
}

/// A file of a task's evidence, changed since the task was checked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StaleFile {
    /// The task.
    #[serde(flatten)]
    pub task_id: TaskId,
    /// The file, relative to the workspace.
    pub path: String,
}

impl StaleFile {
    /// Describes the change, with the display name of the task.
    pub fn text(&self, place: &str) -> String {
        format!("evidence of `{place}` is stale: {} changed after it was checked", self.path)
    }
}

/// A file left by an attempt, stored under its digest, or a file of its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Artifact {
    /// Its path, relative to the workspace.
    pub path: String,
    /// SHA-256 of its content.
    pub digest: Sha256Digest,
    /// Its size in bytes.
    pub size: u64,
    /// Of evidence listed by `writes` only, and not stored: the steps, and the items of its own step, with a declaration of the
    /// file, too. It is evidence until an attempt of another one of these tasks begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_by: Option<Vec<TaskId>>,
}

impl Artifact {
    /// True for evidence listed by `writes` only.
    pub fn is_product(&self) -> bool {
        self.released_by.is_some()
    }

    /// True if it is evidence of another task only until this one begins.
    pub fn is_released_by(&self, task: &TaskId) -> bool {
        self.released_by.iter().flatten().any(|declaring| declaring.contains(task))
    }
}
