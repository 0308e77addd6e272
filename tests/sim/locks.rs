//! The locks of a world's runs.

use wf_core::machine::{LockKey, TaskId, TaskLocks};

use super::world::World;

/// A lock that a place of a run holds.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldLock {
    pub key: LockKey,
    pub run: usize,
    pub task_id: TaskId,
    /// The life of the engine that took it.
    pub life: u32,
}

impl HeldLock {
    /// Whether nobody else may hold a lock while this one is held: files are shared within a run.
    pub fn excludes(&self, key: &LockKey, run: usize) -> bool {
        let covers = |folder: &str, path: &str| path == folder || path.starts_with(&format!("{folder}/"));
        match (&self.key, key) {
            (LockKey::Name(one), LockKey::Name(other)) => one == other,
            (LockKey::File(one), LockKey::File(other)) => {
                self.run != run && (covers(one, other) || covers(other, one))
            }
            _ => false,
        }
    }
}

impl World {
    /// Whether nobody who lives holds a lock that a place of a run needs.
    pub fn is_free(&self, locks: &TaskLocks, run: usize) -> bool {
        locks.keys().all(|key| !self.locks.iter().any(|held| held.excludes(&key, run) && self.is_alive(held)))
    }

    fn is_alive(&self, held: &HeldLock) -> bool {
        self.runs[held.run].engine.as_ref().is_some_and(|engine| engine.life == held.life)
    }

    /// Gives a place its locks, those of the dead, too.
    pub fn take_locks(&mut self, locks: &TaskLocks, run: usize, task_id: &TaskId, life: u32) {
        for key in locks.keys() {
            self.locks.retain(|held| !held.excludes(&key, run));
            self.locks.push(HeldLock { key, run, task_id: task_id.clone(), life });
        }
    }
}
