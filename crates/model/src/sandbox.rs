use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The permissions of a step in its sandbox. Everything not listed is denied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPermissions {
    /// Files and folders that it may read in addition to the workspace: relative to the workspace,
    /// absolute, or below the home folder (`~/…`). Never with `..`.
    pub read: Vec<String>,
    /// Files and folders that it may write, relative to the workspace. Never with `..`.
    pub write: Vec<String>,
    /// True if it has network access.
    pub net: bool,
    /// Additional variables from the environment in which `wf` was started.
    pub env: Vec<String>,
    /// The programs that it may start, by name or path; `None`: every program that it can read.
    pub exec: Option<Vec<String>>,
}

impl SandboxPermissions {
    /// True if the step may write a path of the workspace, or a folder above it.
    pub fn writes(&self, path: &str) -> bool {
        self.write.iter().any(|grant| {
            let parts = Path::new(grant).components();
            let grant: PathBuf = parts.filter(|part| *part != Component::CurDir).collect();
            Path::new(path).starts_with(grant)
        })
    }
}

/// The limits of a process and its descendants. `None`: the default limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Memory, in bytes.
    pub memory: Option<u64>,
    /// CPU time.
    pub cpu: Option<Duration>,
    /// Processes and threads in parallel.
    pub processes: Option<u32>,
    /// The size of its scratch layer, in bytes.
    pub scratch: Option<u64>,
    /// The size of its output, in bytes.
    pub output: Option<u64>,
}
