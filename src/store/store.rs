use std::path::Path;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::column::{ItemColumn, Json};
use super::holder::Holder;
use super::leases::Leases;
use super::mark::Marker;
use super::queue::Queue;
use super::writer::{Writer, Writing, identity};
use super::{
    Answer, Appended, Batch, Blobs, CacheEntry, CacheLookup, Fence, Folder, LEASE, Pruned, Reader,
    StoreError, Taken, Taking, Ticket, Token, answers, append, connect, locks, owners, prune,
    rebuild,
};
use crate::crash;
use crate::machine::Place;
use crate::name::RunId;
use crate::time::{Clock, Moment};

/// What an acknowledged write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// The machine losing power.
    #[default]
    Full,
    /// The program being killed; not the machine losing power.
    Normal,
}

impl Durability {
    /// Its word, as in `wf.yaml` and in the record of a run.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Normal => "normal",
        }
    }
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
#[derive(Debug)]
pub struct Store {
    folder: Folder,
    blobs: Blobs,
    queue: Queue,
    thread: Option<JoinHandle<()>>,
}

impl Store {
    /// Opens the state folder, making it where it does not exist.
    pub fn open(
        dir: &Path,
        durability: Durability,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        Self::open_with_lease(dir, durability, clock, LEASE)
    }

    /// Opens the state folder; the runs that it takes are its own for as long as said after its
    /// last sign of life.
    pub fn open_with_lease(
        dir: &Path,
        durability: Durability,
        clock: Arc<dyn Clock>,
        lease: Duration,
    ) -> Result<Self, StoreError> {
        let folder = Folder::new(dir);
        let (queue, waiting) = Queue::new();
        let connection = connect::for_writing(&folder, durability)?;
        // Who waits to write for longer than its lease lasts has lost it.
        let patience = connect::PATIENCE.min(lease * 2 / 3);
        connection
            .busy_timeout(patience)
            .map_err(|error| StoreError::sqlite(&folder.database(), &error))?;
        let path = folder.database();
        let writer = Writer {
            connection,
            file: identity(&path).ok_or_else(|| StoreError::Removed(path.clone()))?,
            path,
            marker: Marker::new(&folder, durability),
            holder: Holder::new(),
            leases: Leases::new(lease),
            clock,
            queue: queue.clone(),
        };
        let thread = Builder::new()
            .name("wf-store".into())
            .spawn(move || writer.run(&waiting))
            .map_err(|error| StoreError::io("start a thread for", dir, &error))?;
        Ok(Self {
            blobs: Blobs::new(folder.blobs(), durability),
            folder,
            queue,
            thread: Some(thread),
        })
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
        self.queue
            .send(move |writing| append::append(writing, batch))
    }

    /// Makes this store the only one that works on a run, until the fence is dropped, the run's end
    /// is recorded, or the lease runs out. Refused with [`StoreError::Owned`] while another living
    /// process does, or another store of this one. `keeper` is whom the step processes are given to.
    pub fn own_run(&self, run: &RunId, keeper: &str) -> Ticket<Fence> {
        self.queue.send(take(run, keeper))
    }

    /// Does the same for a run that is about to be recorded, together with the batch that is sent next
    /// and records it. That is written under the token, which nobody else can have.
    pub fn own_new_run(&self, run: &RunId, keeper: &str) -> (Token, Ticket<Fence>) {
        let fence = self.queue.send_first(take(run, keeper));
        (Token::first(run), fence)
    }

    /// Takes a named lock for a place if it is free, or its holder's process is dead.
    pub fn try_lock(&self, name: &str, run: &RunId, place: &Place) -> Ticket<Taking> {
        let (name, run, place) = (name.to_owned(), run.clone(), place.clone());
        self.sql(move |writing| {
            let writer = writing.writer;
            let wish = locks::Wish {
                name: &name,
                run: &run,
                place: &place,
                now: writer.clock.now(),
            };
            locks::take(writing.connection, &writer.holder, &wish)
        })
    }

    /// Gives a named lock back, if the place holds it through this store.
    pub fn unlock(&self, name: &str, run: &RunId, place: &Place) -> Ticket<()> {
        let lock = (name.to_owned(), run.to_string(), place.to_string());
        self.sql(move |writing| locks::give_back(writing.connection, &writing.writer.holder, &lock))
    }

    /// Gives back every lock of a run that was taken over, and of those nested in it, whoever
    /// took it.
    pub fn release_run(&self, run: &RunId) -> Ticket<()> {
        let run = run.clone();
        self.sql(move |writing| locks::release(writing.connection, &run))
    }

    /// Records what somebody answered to a question of a run.
    pub fn answer(&self, answer: Answer) -> Ticket<Taken> {
        self.queue
            .send(move |writing| answers::put(writing, &answer))
    }

    /// Keeps a result for reuse.
    pub fn cache_put(&self, entry: CacheEntry) -> Ticket<()> {
        self.sql(move |writing| {
            writing
                .connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO cache
                         (key, run, step, item, outputs, artifacts, files, created)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                )?
                .execute((
                    entry.key.to_string(),
                    entry.run.as_str(),
                    entry.place.step.as_str(),
                    ItemColumn(entry.place.item),
                    Json(&entry.outputs),
                    Json(&entry.artifacts),
                    Json(&entry.files),
                    entry.created.millis(),
                ))
                .map(drop)
        })
    }

    /// Records a question to the cache and its answer.
    pub fn cache_note(&self, lookup: CacheLookup) -> Ticket<()> {
        self.sql(move |writing| {
            writing
                .connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO cache_lookups (run, step, item_key, key, hit, parts)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute((
                    lookup.run.as_str(),
                    lookup.place.step.as_str(),
                    lookup.item_key.as_deref().unwrap_or_default(),
                    lookup.key.to_string(),
                    lookup.hit,
                    Json(&lookup.parts),
                ))
                .map(drop)
        })
    }

    /// Forgets ended runs beyond the retention: their rows, folders and files. The log keeps
    /// the hashes of their events, and says which runs they were. What somebody works on stays, and while a backup is made
    /// everything does. Blocks the calling thread.
    pub fn prune(&self, keep: Retention, now: Moment) -> Result<Pruned, StoreError> {
        let Some(_turn) = connect::free_turn(&self.folder) else {
            return Ok(Pruned::default());
        };
        let rows = self.job(move |writing| prune::rows(writing, keep, now));
        let (runs, place) = rows.wait()?;
        for run in &runs {
            // What stays for some reason is swept later.
            crash::point("forget.before");
            let _ = std::fs::remove_dir_all(self.folder.run(run));
            crash::point("forget.after");
        }
        Ok(Pruned {
            runs: runs.len(),
            blobs: prune::files(&self.folder, now)?,
            place,
        })
    }

    /// Makes the projections anew from the log.
    pub fn rebuild(&self) -> Ticket<()> {
        self.sql(|writing| rebuild::rebuild(writing.connection))
    }

    /// Queues work.
    pub(super) fn job<T, W>(&self, work: W) -> Ticket<T>
    where
        T: Send + 'static,
        W: FnOnce(&Writing<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.queue.send(work)
    }

    /// Queues work that fails only where SQLite does.
    pub(super) fn sql<T, W>(&self, work: W) -> Ticket<T>
    where
        T: Send + 'static,
        W: FnOnce(&Writing<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        self.queue
            .send(move |writing| work(writing).map_err(|error| writing.failed(&error)))
    }
}

/// Takes a run.
fn take(
    run: &RunId,
    keeper: &str,
) -> impl FnOnce(&Writing<'_>) -> Result<Fence, StoreError> + Send + 'static {
    let (run, keeper) = (run.clone(), keeper.to_owned());
    move |writing| {
        let writer = writing.writer;
        let term = owners::Term {
            keeper: &keeper,
            now: writer.clock.now(),
            end: writer.leases.end(),
        };
        let taken = owners::take(writing.connection, &writer.holder, &run, &term);
        match taken.map_err(|error| writing.failed(&error))? {
            Ok(token) => {
                let lost = writer.leases.keep(token.clone());
                Ok(Fence::new(token, writer.queue.clone(), lost))
            }
            Err(lease) => Err(StoreError::Owned {
                run,
                lease: Box::new(lease),
            }),
        }
    }
}

impl Store {
    /// Ends as it does when it is dropped, but does not wait for longer than this while another process
    /// holds the database. What is not written by then is not: who decided it decides it again, and
    /// the process is about to end. Says whether all was written. Blocks the calling thread.
    pub fn close_within(mut self, patience: Duration) -> bool {
        const LOOK: Duration = Duration::from_millis(5);
        self.queue.stop();
        let mut waited = Duration::ZERO;
        while self
            .thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
        {
            if waited >= patience {
                // Left to itself, it ends with the process.
                self.thread = None;
                return false;
            }
            std::thread::sleep(LOOK);
            waited += LOOK;
        }
        true
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.queue.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
