use serde::{Deserialize, Serialize};

use super::TaskId;
use wf_base::digest::Sha256Digest;

/// A protection that a sandbox enforces.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum IsolationKind {
    /// A private view of the files: anything not granted does not exist.
    Files,
    /// A private network without peers.
    Network,
    /// No process outside can be seen or signalled.
    Processes,
    /// Private user ids: no rights outside.
    Users,
    /// The kernel refuses paths that are not granted, regardless of mounts.
    Landlock,
    /// The kernel refuses system calls that are not needed.
    Seccomp,
    /// Writes go to a layer that is thrown away.
    Scratch,
    /// A limit on memory.
    Memory,
    /// A limit on CPU time.
    Cpu,
    /// A limit on the number of processes.
    Count,
}

/// The workspace as it was when the run began, for its checks to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Baseline {
    /// SHA-256 of the list of its files, which is stored with the run: the name and the system
    /// metadata of each.
    pub manifest: Sha256Digest,
    /// The number of files and folders.
    pub entries: u64,
}

/// A file of a task's evidence that changed since the task was checked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StaleFile {
    /// The task.
    #[serde(flatten)]
    pub place: TaskId,
    /// The file, relative to the workspace.
    pub path: String,
}

impl IsolationKind {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Network => "network",
            Self::Processes => "processes",
            Self::Users => "users",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Scratch => "scratch",
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Count => "count",
        }
    }
}

impl StaleFile {
    /// Describes the change, with the display name of the task.
    pub fn text(&self, place: &str) -> String {
        format!("evidence of `{place}` is stale: {} changed after it was checked", self.path)
    }
}
