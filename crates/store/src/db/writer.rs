use std::{
    cell::{Cell, RefCell},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::Duration,
};

use rusqlite::Connection;

use crate::{
    db::{
        held_leases::{HeldLeases, LeaseRenewal},
        queue::{WriteJob, WriterMessage, WriterQueue},
    },
    error::StoreError,
    files::{folder::StoreDurability, reserve::SpaceReserve},
    lease::holder::LeaseHolder,
    log::{mark::LogMarkFile, tail::LogTail},
};
use wf_base::{failpoint, time::Clock};

/// The maximum number of jobs in one transaction: it bounds the wait of the first.
const MOST_JOBS: usize = 1000;

/// The maximum wait for the job a first one goes with: no caller waits for it alone.
const SOON: Duration = Duration::from_secs(1);

/// The size beyond which a write-ahead log is moved into the database when the store closes.
const LARGE_LOG: u64 = 1 << 20;

/// The owner of the write connection, on a thread of its own.
pub(crate) struct StoreWriter {
    pub connection: Connection,
    /// The path of its file, for messages.
    pub path: PathBuf,
    /// The identity of the file: device and inode number.
    pub file: (u64, u64),
    /// The holder of what this store holds.
    pub holder: LeaseHolder,
    /// The leases of the runs it holds.
    pub leases: HeldLeases,
    /// The mark of the log's end.
    pub marker: LogMarkFile,
    /// The flushes of its transactions.
    pub flushes: WriterFlushes,
    pub clock: Arc<dyn Clock>,
    /// The queue to this writer, for releases.
    pub queue: WriterQueue,
    /// The space kept for the end of what this process runs.
    pub reserve: Arc<SpaceReserve>,
}

/// The rule which transactions are flushed to the disk.
pub(crate) struct WriterFlushes {
    /// True if transactions are flushed at all.
    durable: bool,
    /// True if the next transaction is.
    on: Cell<bool>,
}

impl WriterFlushes {
    /// Creates the rule for a connection that was set up for a durability.
    pub(crate) fn new(durability: StoreDurability) -> Self {
        let durable = durability == StoreDurability::Full;
        Self { durable, on: Cell::new(durable) }
    }

    /// Makes the next transaction flush, or not: one whose jobs are all brief costs no flush.
    fn adjust(&self, connection: &Connection, is_brief: bool) -> rusqlite::Result<()> {
        let on = self.durable && !is_brief;
        if self.on.get() != on {
            connection.pragma_update(None, "synchronous", if on { "full" } else { "normal" })?;
            self.on.set(on);
        }
        Ok(())
    }
}

/// The context of a job: a transaction and what belongs to it.
pub(crate) struct WriteContext<'a> {
    /// The connection, inside a transaction.
    pub connection: &'a Connection,
    pub writer: &'a StoreWriter,
    /// A buffer for serialization.
    pub buffer: &'a RefCell<Vec<u8>>,
    /// The end of the log, once the transaction has added to it.
    pub tail: Cell<Option<LogTail>>,
}

/// Returns the identity of the file at a path.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = path.metadata().ok()?;
    Some((found.dev(), found.ino()))
}

impl StoreWriter {
    /// Works until told to stop: all waiting jobs go into one transaction.
    pub(crate) fn run(self, queue: &Receiver<WriterMessage>) {
        let buffer = RefCell::new(Vec::with_capacity(4096));
        let mut open = true;
        while open && let Some((mut jobs, more)) = self.first(queue) {
            open = collect_jobs(queue, &mut jobs, more);
            self.commit(jobs, &buffer);
        }
        self.close();
    }

    /// Waits for jobs, or until the leases are to be renewed; the flag is true if more are on their
    /// way. `None` at the end.
    fn first(&self, queue: &Receiver<WriterMessage>) -> Option<(Vec<Box<dyn WriteJob>>, bool)> {
        let mut jobs: Vec<Box<dyn WriteJob>> = Vec::new();
        let wait = self.leases.wait();
        let came = match wait {
            None => queue.recv().map_err(RecvTimeoutError::from),
            Some(wait) => queue.recv_timeout(wait),
        };
        // Leases are renewed even if there is always something to do.
        if self.leases.wait().is_some_and(|wait| wait.is_zero()) {
            jobs.push(Box::new(LeaseRenewal));
        }
        let more = matches!(came, Ok(WriterMessage::First(_)));
        match came {
            Ok(WriterMessage::Work(job) | WriterMessage::First(job)) => jobs.push(job),
            Err(RecvTimeoutError::Timeout) => {}
            Ok(WriterMessage::Stop) | Err(RecvTimeoutError::Disconnected) => return None,
        }
        Some((jobs, more))
    }

    /// Does jobs in one transaction and sends their results after its commit.
    fn commit(&self, mut jobs: Vec<Box<dyn WriteJob>>, buffer: &RefCell<Vec<u8>>) {
        let writing =
            WriteContext { connection: &self.connection, writer: self, buffer, tail: Cell::new(None) };
        if jobs.is_empty() {
            return;
        }
        self.reserve.watch();
        let is_brief = jobs.iter().all(|job| job.is_brief());
        let outcomes = self
            .flushes
            .adjust(&self.connection, is_brief)
            .map_err(|error| StoreError::sqlite(&self.path, &error))
            .and_then(|()| self.execute("BEGIN IMMEDIATE"))
            .and_then(|()| work(&writing, &mut jobs))
            .and_then(|outcomes| {
                failpoint::point("commit.before");
                self.execute("COMMIT").map(|()| outcomes)
            })
            .and_then(|outcomes| self.check_file_exists().map(|()| outcomes));
        failpoint::point("commit.after");
        if outcomes.is_ok()
            && let Some(tail) = writing.tail.get()
        {
            self.marker.write_mark(&tail);
            failpoint::point("mark.after");
        }
        match outcomes {
            Ok(outcomes) => jobs.into_iter().zip(outcomes).for_each(|(job, outcome)| job.answer(outcome)),
            Err(error) => {
                if !self.connection.is_autocommit() {
                    let _ = self.execute("ROLLBACK");
                }
                for job in jobs {
                    job.answer(Err(error.clone()));
                }
            }
        }
    }

    /// Fails if the file was removed or replaced: writes to it would be lost with this process.
    fn check_file_exists(&self) -> Result<(), StoreError> {
        match identity(&self.path) {
            Some(file) if file == self.file => Ok(()),
            _ => Err(StoreError::Removed(self.path.clone())),
        }
    }

    fn execute(&self, sql: &str) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute([]))
            .map(drop)
            .map_err(|error| StoreError::sqlite(&self.path, &error))
    }

    /// Releases all this store holds. A small write-ahead log stays beside the database, because moving it
    /// costs more than the next opening saves.
    fn close(&self) {
        let _ = self.holder.release_all(&self.connection, self.clock.now());
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        if std::fs::metadata(log).is_ok_and(|file| file.len() > LARGE_LOG) {
            let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
            let _ = self.connection.query_row(truncate, [], |_| Ok(()));
        }
    }
}

/// Adds the waiting jobs, and the one on its way, if any; returns false if none will follow.
fn collect_jobs(queue: &Receiver<WriterMessage>, jobs: &mut Vec<Box<dyn WriteJob>>, mut more: bool) -> bool {
    while jobs.len() < MOST_JOBS {
        let came = if more { queue.recv_timeout(SOON).ok() } else { queue.try_recv().ok() };
        more = matches!(came, Some(WriterMessage::First(_)));
        match came {
            Some(WriterMessage::Work(job) | WriterMessage::First(job)) => jobs.push(job),
            Some(WriterMessage::Stop) => return false,
            None => break,
        }
    }
    true
}

/// Does jobs inside a transaction. A failing job rolls back only its own changes; an error here means
/// that everything is to be rolled back, or that SQLite has done so.
fn work(
    writing: &WriteContext<'_>,
    jobs: &mut [Box<dyn WriteJob>],
) -> Result<Vec<Result<(), StoreError>>, StoreError> {
    let path = &writing.writer.path;
    if let [alone] = jobs {
        // All changes belong to this job.
        return alone.work(writing).map(|()| vec![Ok(())]).map_err(|error| error.at(path));
    }
    let mut outcomes = Vec::with_capacity(jobs.len());
    for job in jobs {
        writing.writer.execute("SAVEPOINT job")?;
        let tail = writing.tail.get();
        let outcome = job.work(writing).map_err(|error| error.at(path));
        if let Err(error) = &outcome {
            writing.tail.set(tail);
            if writing.connection.is_autocommit() {
                return Err(error.clone());
            }
            writing.writer.execute("ROLLBACK TO job")?;
        }
        writing.writer.execute("RELEASE job")?;
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::{StoreError, WriteContext, WriteJob, WriterMessage, collect_jobs};
    use crate::error::QueryError;

    struct Nothing;

    impl WriteJob for Nothing {
        fn work(&mut self, _: &WriteContext<'_>) -> Result<(), QueryError> {
            Ok(())
        }

        fn answer(self: Box<Self>, _: Result<(), StoreError>) {}
    }

    #[test]
    fn what_is_first_goes_with_what_follows() {
        let (send, queue) = channel();
        let mut jobs: Vec<Box<dyn WriteJob>> = vec![Box::new(Nothing)];
        send.send(WriterMessage::First(Box::new(Nothing))).unwrap();
        send.send(WriterMessage::Work(Box::new(Nothing))).unwrap();
        assert!(collect_jobs(&queue, &mut jobs, true), "nobody told it to stop");
        assert_eq!(jobs.len(), 3);
        // No job follows: the wait is bounded.
        assert!(collect_jobs(&queue, &mut jobs, true));
        send.send(WriterMessage::Stop).unwrap();
        assert!(!collect_jobs(&queue, &mut jobs, true));
        assert_eq!(jobs.len(), 3);
    }
}
