//! The locks of a task, as they are requested: names shared by steps, and files declared to be changed.
//!
//! A task gets all its locks at once or none, before it has begun anything, and holds them until it has ended. So no two
//! tasks wait for each other in a circle, in any order of their files.

use serde::{Deserialize, Serialize};

use wf_base::name::RunId;
use wf_model::LockBusyPolicy;

/// The locks needed by a task before it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLocks {
    /// The named lock of its step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    /// The reaction when another run has the lock.
    #[serde(default, skip_serializing_if = "is_queue")]
    pub when_busy: LockBusyPolicy,
    /// Its files declared to be changed, as paths in the workspace, in order. A folder covers everything in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// One lock of a task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockKey {
    /// A named lock. All runs of a workspace share it.
    Name(String),
    /// A file, or a folder with everything in it. Runs share it; within a run, the machine lets tasks take turns.
    File(String),
}

/// A task keeping another one from a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    pub key: LockKey,
    /// The run of the task.
    pub run: RunId,
    /// The task, as shown: `step[item]`.
    pub place: String,
    /// True if it waits for the lock itself, and comes first; else it has it.
    pub waits: bool,
}

impl LockKey {
    /// Returns the name, or the path.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Name(name) | Self::File(name) => name,
        }
    }
}

impl TaskLocks {
    /// True if the task needs none.
    pub fn is_empty(&self) -> bool {
        self.lock.is_none() && self.files.is_empty()
    }

    pub fn keys(&self) -> impl Iterator<Item = LockKey> + '_ {
        let names = self.lock.iter().cloned().map(LockKey::Name);
        names.chain(self.files.iter().cloned().map(LockKey::File))
    }
}

/// True for a task waiting for its turn, as most do.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_queue(policy: &LockBusyPolicy) -> bool {
    *policy == LockBusyPolicy::Queue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_everything_at_once() {
        let locks = TaskLocks {
            lock: Some("db".into()),
            files: vec!["a".into(), "b/c".into()],
            ..TaskLocks::default()
        };
        let keys: Vec<LockKey> = locks.keys().collect();
        let files = ["a", "b/c"].map(|path| LockKey::File(path.into()));
        assert_eq!(keys, [vec![LockKey::Name("db".into())], files.to_vec()].concat());
        assert!(!locks.is_empty() && TaskLocks::default().is_empty());
    }
}
