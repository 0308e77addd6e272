use std::{
    path::Path,
    sync::Arc,
    thread::{Builder, JoinHandle},
    time::Duration,
};

use crate::{
    db::{
        connect,
        fence::RunFence,
        held_leases::HeldLeases,
        migrate,
        queue::WriterQueue,
        reader::StoreReader,
        ticket::WriteTicket,
        writer::{StoreWriter, WriteContext, WriterFlushes, identity},
    },
    error::{QueryResult, StoreError},
    files::{
        blobs::BlobStore,
        folder::{StateFolder, StoreDurability},
        reserve::SpaceReserve,
    },
    lease::{
        holder::LeaseHolder,
        locks,
        locks::{LockAcquisition, LockRequest},
        permits::{PermitAnswer, PermitRequest},
        run_lease,
        run_lease::{FencingToken, LEASE},
    },
    log::mark::LogMarkFile,
};
use wf_base::{name::RunId, time::Clock};
use wf_core::{
    machine::{TaskId, TaskLocks},
    permit::ParallelLimits,
};

/// The open state. Dropping it writes what is queued, releases all it holds, and stops its thread.
#[derive(Debug)]
pub struct Store {
    folder: StateFolder,
    blobs: BlobStore,
    queue: WriterQueue,
    reserve: Arc<SpaceReserve>,
    thread: Option<JoinHandle<()>>,
}

impl Store {
    /// Opens the state folder, creating it if it does not exist.
    pub fn open(dir: &Path, durability: StoreDurability, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        Self::open_with_lease(dir, durability, clock, LEASE)
    }

    /// Opens the state folder with a lease of the given length: its runs stay its own for that long after its
    /// last sign of life.
    pub fn open_with_lease(
        dir: &Path,
        durability: StoreDurability,
        clock: Arc<dyn Clock>,
        lease: Duration,
    ) -> Result<Self, StoreError> {
        let folder = StateFolder::new(dir);
        let (queue, waiting) = WriterQueue::new();
        let connection = connect::for_writing(&folder, durability)?;
        // A process that waits to write for longer than its lease lasts has lost it.
        let patience = connect::PATIENCE.min(lease * 2 / 3);
        connection.busy_timeout(patience).map_err(|error| StoreError::sqlite(&folder.database(), &error))?;
        let path = folder.database();
        // A disk without room for this is no reason to stop: it is asked for only when another program cannot read the state.
        let _ = migrate::note_program(&connection, clock.now());
        let reserve = Arc::new(SpaceReserve::of(dir));
        let writer = StoreWriter {
            reserve: Arc::clone(&reserve),
            connection,
            file: identity(&path).ok_or_else(|| StoreError::Removed(path.clone()))?,
            path,
            marker: LogMarkFile::new(&folder, durability),
            flushes: WriterFlushes::new(durability),
            holder: LeaseHolder::new(),
            leases: HeldLeases::new(lease),
            clock,
            queue: queue.clone(),
        };
        let thread = Builder::new()
            .name("wf-store".into())
            .spawn(move || writer.run(&waiting))
            .map_err(|error| StoreError::io("start a thread for", dir, &error))?;
        let blobs = BlobStore::of_state(&folder, durability);
        Ok(Self { blobs, folder, queue, reserve, thread: Some(thread) })
    }

    /// Keeps space on the disk for the end of what this process runs, from now on.
    pub fn keep_reserve(&self) {
        self.reserve.fill();
    }

    pub fn reserve(&self) -> &SpaceReserve {
        &self.reserve
    }

    pub fn folder(&self) -> &StateFolder {
        &self.folder
    }

    /// Returns the store of files under their digests.
    pub fn blobs(&self) -> &BlobStore {
        &self.blobs
    }

    /// Opens a connection for reading.
    pub fn reader(&self) -> Result<StoreReader, StoreError> {
        StoreReader::open_on(&self.folder)
    }

    /// Makes this store the only one working on a run, until the fence is dropped, the run's end is recorded,
    /// or the lease runs out. Refused with [`StoreError::Owned`] while another living process, or another
    /// store of this one, owns it. `keeper` is the supervisor of the step processes.
    pub fn own_run(&self, run: &RunId, keeper: &str) -> WriteTicket<RunFence> {
        self.queue.send(take(run, keeper))
    }

    /// Does the same for a new run, together with the next batch, which records it. That batch is written
    /// under the token, which no other process can have.
    pub fn own_new_run(&self, run: &RunId, keeper: &str) -> (FencingToken, WriteTicket<RunFence>) {
        let fence = self.queue.send_first(take(run, keeper));
        (FencingToken::first(run), fence)
    }

    /// Takes all locks of a task if they are free, or their holders' processes are dead; else none. Like all
    /// ending with its process, this survives a kill of the program, and not a loss of power: it costs no flush.
    pub fn try_lock(&self, locks: &TaskLocks, run: &RunId, task_id: &TaskId) -> WriteTicket<LockAcquisition> {
        let (locks, run, place) = (locks.clone(), run.clone(), task_id.to_string());
        self.queue.send_brief(move |writing| {
            let writer = writing.writer;
            let wish = LockRequest { locks: &locks, run: &run, place: &place, now: writer.clock.now() };
            Ok(wish.take(writing.connection, &writer.holder)?)
        })
    }

    /// Releases the locks a task holds through this store; it waits for none any more.
    pub fn unlock(&self, run: &RunId, task_id: &TaskId) -> WriteTicket<()> {
        self.delete_task("locks", run, task_id)
    }

    /// Asks for a permit of a task to execute: it has one afterwards, or waits for its turn, and asks again. Like a lock, this
    /// costs no flush.
    pub fn try_permit(
        &self,
        limits: ParallelLimits,
        run: &RunId,
        task_id: &TaskId,
    ) -> WriteTicket<PermitAnswer> {
        let (run, place) = (run.clone(), task_id.to_string());
        self.queue.send_brief(move |writing| {
            let writer = writing.writer;
            let wish = PermitRequest { limits, run: &run, place: &place, now: writer.clock.now() };
            Ok(wish.take(writing.connection, &writer.holder)?)
        })
    }

    /// Gives back the permit a task has through this store, or ends its wait for one.
    pub fn return_permit(&self, run: &RunId, task_id: &TaskId) -> WriteTicket<()> {
        self.delete_task("permits", run, task_id)
    }

    fn delete_task(&self, table: &'static str, run: &RunId, task_id: &TaskId) -> WriteTicket<()> {
        let (run, place) = (run.clone(), task_id.to_string());
        self.queue.send_brief(move |writing| {
            Ok(writing.writer.holder.delete_task(writing.connection, table, &run, &place)?)
        })
    }

    /// Releases every lock of a run taken over, and of those nested in it, regardless of the holder.
    pub fn release_run(&self, run: &RunId) -> WriteTicket<()> {
        let run = run.clone();
        self.job(move |writing| Ok(locks::release(writing.connection, &run)?))
    }

    pub(crate) fn queue(&self) -> WriterQueue {
        self.queue.clone()
    }

    /// Queues a job.
    pub(crate) fn job<T, W>(&self, work: W) -> WriteTicket<T>
    where
        T: Send + 'static,
        W: FnOnce(&WriteContext<'_>) -> QueryResult<T> + Send + 'static,
    {
        self.queue.send(work)
    }
}

/// Takes a run.
fn take(
    run: &RunId,
    keeper: &str,
) -> impl FnOnce(&WriteContext<'_>) -> QueryResult<RunFence> + Send + 'static {
    let (run, keeper) = (run.clone(), keeper.to_owned());
    move |writing| {
        let writer = writing.writer;
        let term =
            run_lease::LeaseTerms { supervisor: &keeper, now: writer.clock.now(), end: writer.leases.end() };
        match run_lease::take(writing.connection, &writer.holder, &run, &term)? {
            Ok(token) => {
                let lost = writer.leases.keep_renewing(token.clone());
                Ok(RunFence::new(token, writer.queue.clone(), lost))
            }
            Err(lease) => Err(StoreError::Owned { run, lease: Box::new(lease) }.into()),
        }
    }
}

impl Store {
    /// Closes the store as dropping it does, but waits at most `patience` while another process holds the
    /// database. Anything not written by then is lost: its decision is made again, and the process is about
    /// to exit. Returns true if all was written. Blocks the calling thread.
    pub fn close_within(mut self, patience: Duration) -> bool {
        const LOOK: Duration = Duration::from_millis(5);
        self.queue.stop();
        let mut waited = Duration::ZERO;
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            if waited >= patience {
                // Left to itself, the thread ends with the process.
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
