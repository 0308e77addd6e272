use serde::{Deserialize, Serialize};

use super::Place;
use crate::digest::Digest;

/// One thing that a sandbox enforces.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Guard {
    /// A view of the files of its own: what is not granted is not there.
    Files,
    /// No network but one of its own, with nobody in it.
    Network,
    /// No process outside is seen or signalled.
    Processes,
    /// Users of its own: none of its rights reaches outside.
    Users,
    /// The kernel refuses paths that are not granted, whatever is mounted.
    Landlock,
    /// The kernel refuses system calls that nothing needs.
    Seccomp,
    /// What it writes goes to a layer that is thrown away.
    Scratch,
    /// A limit on memory.
    Memory,
    /// A limit on CPU time.
    Cpu,
    /// A limit on the number of processes.
    Count,
}

/// The workspace as it was when the run began, which its checks compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Baseline {
    /// SHA-256 of the list of its files, which is kept with the run: of each its name and what the system
    /// says of it.
    pub manifest: Digest,
    /// The number of files and folders.
    pub entries: u64,
}

/// A file of a place's evidence is not what it was when the place was checked.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Stale {
    /// Whose evidence.
    #[serde(flatten)]
    pub place: Place,
    /// The file, relative to the workspace.
    pub path: String,
}

impl Guard {
    /// The word for it.
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

impl Stale {
    /// What is to be said of the place, by the name that people are shown.
    pub fn text(&self, place: &str) -> String {
        format!(
            "evidence of `{place}` is stale: {} changed after it was checked",
            self.path
        )
    }
}
