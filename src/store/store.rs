use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::{
    Appended, Batch, Blobs, CacheEntry, CacheLookup, Fence, Folder, Pruned, Reader, StoreError,
    Ticket,
};
use crate::machine::Place;
use crate::name::RunId;
use crate::time::{Clock, Moment};

/// What an acknowledged write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The machine losing power.
    #[default]
    Full,
    /// The program being killed; not the machine losing power.
    Normal,
}

/// How long runs are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// The age, since its end, beyond which a run goes.
    pub max_age: Option<Duration>,
    /// How many ended runs stay; nested runs stay and go with the run above them.
    pub max_runs: Option<usize>,
}

/// The open state. Dropping it writes what is queued, gives back what it holds and ends its
/// thread.
pub struct Store {
    folder: Folder,
    blobs: Blobs,
}

impl Store {
    /// Opens the state folder, making it where it does not exist.
    pub fn open(
        dir: &Path,
        durability: Durability,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let _ = clock;
        let folder = Folder::new(dir);
        let blobs = Blobs::new(folder.blobs(), durability);
        Ok(Self { folder, blobs })
    }

    /// The places of the state folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The files kept under their digests.
    pub fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    /// A connection for reading.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        Reader::open(self.folder.path())
    }

    /// Records events, and their run with the first of them.
    pub fn append(&self, batch: Batch) -> Ticket<Appended> {
        let _ = batch;
        Ticket::new().1
    }

    /// Makes this store the only one that works on a run, until the fence is dropped.
    /// Refused with [`StoreError::Owned`] while another living process does.
    pub fn own_run(&self, run: &RunId) -> Ticket<Fence> {
        let _ = run;
        Ticket::new().1
    }

    /// Takes a named lock for a place if it is free, or its holder's process is dead; says
    /// whether the place holds it now.
    pub fn try_lock(&self, name: &str, run: &RunId, place: &Place) -> Ticket<bool> {
        let _ = (name, run, place);
        Ticket::new().1
    }

    /// Gives a named lock back, if the place holds it.
    pub fn unlock(&self, name: &str, run: &RunId, place: &Place) -> Ticket<()> {
        let _ = (name, run, place);
        Ticket::new().1
    }

    /// Gives back every lock of a run.
    pub fn release_run(&self, run: &RunId) -> Ticket<()> {
        let _ = run;
        Ticket::new().1
    }

    /// Keeps a result for reuse.
    pub fn cache_put(&self, entry: CacheEntry) -> Ticket<()> {
        let _ = entry;
        Ticket::new().1
    }

    /// Records a question to the cache and its answer.
    pub fn cache_note(&self, lookup: CacheLookup) -> Ticket<()> {
        let _ = lookup;
        Ticket::new().1
    }

    /// Forgets ended runs beyond the retention: their rows, folders and files. The log keeps
    /// the hashes of their events.
    pub fn prune(&self, keep: Retention, now: Moment) -> Ticket<Pruned> {
        let _ = (keep, now);
        Ticket::new().1
    }

    /// Makes the projections anew from the log.
    pub fn rebuild(&self) -> Ticket<()> {
        Ticket::new().1
    }
}
