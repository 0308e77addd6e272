//! The additions that work makes to the state besides events: lookups and results of the cache, notes and recalls of memory.
//!
//! Where machines elsewhere decide about a run, its additions are carried to the other copies of it, as its events are.

use std::sync::PoisonError;

use serde::{Deserialize, Serialize};

use wf_base::{digest::Sha256Digest, time::Moment};
use wf_core::memory::MemoryNote;
use wf_store::{CacheEntry, CacheLookup, Store, StoreError};

use super::engine_session::EngineSession;

/// An addition to the state. To write it twice is to write it once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateAddition {
    Lookup(Box<CacheLookup>),
    Result(Box<CacheEntry>),
    Note(Box<MemoryNote>),
    /// Megrams of memory a run was told.
    Recall {
        /// Their ids.
        megrams: Vec<Sha256Digest>,
        at: Moment,
    },
}

impl StateAddition {
    /// Writes it to a state, which has the files of a result.
    pub(crate) async fn write(self, store: &Store) -> Result<(), StoreError> {
        match self {
            Self::Lookup(lookup) => store.cache().note_lookup(*lookup).await,
            Self::Result(entry) => match store.reader()?.cache().find(&entry.key)? {
                Some(Ok(known)) if known == *entry => Ok(()),
                _ => store.cache().put(*entry).await,
            },
            Self::Note(note) => store.memory().add_notes(vec![*note]).await.map(drop),
            Self::Recall { megrams, at } => store.memory().recall(megrams, at).await,
        }
    }
}

impl EngineSession {
    /// Collects the additions to the state from now on, for those who have copies of the run.
    pub fn collect_additions(&self) {
        self.additions().get_or_insert_default();
    }

    /// Takes the collected additions.
    pub fn take_additions(&self) -> Vec<StateAddition> {
        self.additions().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Takes back additions not passed on.
    pub fn return_additions(&self, additions: Vec<StateAddition>) {
        self.additions().get_or_insert_default().splice(0..0, additions);
    }

    /// Collects an addition that was written, if somebody wants it.
    pub(crate) fn note_addition(&self, addition: impl FnOnce() -> StateAddition) {
        if let Some(collected) = self.additions().as_mut() {
            collected.push(addition());
        }
    }

    fn additions(&self) -> std::sync::MutexGuard<'_, Option<Vec<StateAddition>>> {
        self.shared.additions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
