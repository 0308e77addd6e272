use serde::{Deserialize, Serialize};
use wf_base::keywords;

/// The lock that a step holds while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepLock {
    /// Its name. All runs of a workspace share it.
    pub name: String,
    /// The reaction when another run has it.
    pub when_busy: LockBusyPolicy,
}

impl From<&str> for StepLock {
    /// Creates the lock of a step that waits for its turn.
    fn from(name: &str) -> Self {
        Self { name: name.to_owned(), when_busy: LockBusyPolicy::Queue }
    }
}

keywords! {
    listed
    /// The reaction of a step when another run has its lock.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum LockBusyPolicy {
        /// It waits for its turn.
        #[default]
        Queue = "queue",
        /// It waits, and the runs of earlier such steps that still wait are cancelled.
        Newest = "newest",
        /// It fails.
        Refuse = "refuse",
    }
}
