use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a step may reach in its sandbox. What is not named, it may not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allow {
    /// Files and folders that it may read besides the workspace: relative to the workspace,
    /// absolute, or below the home folder (`~/…`). Never with `..`.
    pub read: Vec<String>,
    /// Files and folders that it may change, relative to the workspace. Never with `..`.
    pub write: Vec<String>,
    /// Whether it has a network.
    pub net: bool,
    /// Further variables of the environment that `wf` was started in.
    pub env: Vec<String>,
    /// The programs that it may start, by name or path; `None`: all that it can read.
    pub exec: Option<Vec<String>>,
}

impl Allow {
    /// Whether a path of the workspace is one that it may change, or lies below one.
    pub fn writes(&self, path: &str) -> bool {
        self.write.iter().any(|grant| {
            let parts = Path::new(grant).components();
            let grant: PathBuf = parts.filter(|part| *part != Component::CurDir).collect();
            Path::new(path).starts_with(grant)
        })
    }
}

/// How much a process and all that it starts may use. `None`: as much as is the rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory, in bytes.
    pub memory: Option<u64>,
    /// Time on processors.
    pub cpu: Option<Duration>,
    /// Processes and threads at once.
    pub processes: Option<u32>,
    /// What it may write into its scratch layer, in bytes.
    pub scratch: Option<u64>,
    /// What it may print, in bytes.
    pub output: Option<u64>,
}
