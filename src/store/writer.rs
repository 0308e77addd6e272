use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use rusqlite::Connection;

use super::StoreError;
use super::holder::Holder;
use super::leases::{Leases, Renewal};
use super::log::Tail;
use super::mark::Marker;
use super::queue::{Job, Message, Queue};
use crate::crash;
use crate::time::Clock;

/// The most jobs of one transaction: it bounds how long the first of them waits.
const MOST_JOBS: usize = 1000;

/// A write-ahead log beyond this size is moved into the database when the store closes.
const LARGE_LOG: u64 = 1 << 20;

/// The owner of the write connection, on a thread of its own.
pub(super) struct Writer {
    /// The connection.
    pub connection: Connection,
    /// Its file, for messages.
    pub path: PathBuf,
    /// Who holds what this store holds.
    pub holder: Holder,
    /// The leases of the runs that it holds.
    pub leases: Leases,
    /// Where the end of the log is noted.
    pub marker: Marker,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The way back to this writer, for what gives itself back.
    pub queue: Queue,
}

/// What a job finds: a transaction and what goes with it.
pub(super) struct Writing<'a> {
    /// The connection, inside a transaction.
    pub connection: &'a Connection,
    /// The writer.
    pub writer: &'a Writer,
    /// A buffer to serialise into.
    pub buffer: &'a RefCell<Vec<u8>>,
    /// The end of the log, once the transaction added to it.
    pub tail: Cell<Option<Tail>>,
}

impl Writing<'_> {
    /// Sorts a failure of SQLite.
    pub(super) fn failed(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::sqlite(&self.writer.path, error)
    }
}

impl Writer {
    /// Works until it is told to stop: all that waits goes into one transaction.
    pub(super) fn run(self, queue: &Receiver<Message>) {
        let buffer = RefCell::new(Vec::with_capacity(4096));
        let mut open = true;
        while open && let Some(mut jobs) = self.first(queue) {
            while jobs.len() < MOST_JOBS {
                match queue.try_recv() {
                    Ok(Message::Work(job)) => jobs.push(job),
                    Ok(Message::Stop) => {
                        open = false;
                        break;
                    }
                    Err(_) => break,
                }
            }
            self.commit(jobs, &buffer);
        }
        self.close();
    }

    /// Waits for work, or until the leases are to be renewed; `None` at the end.
    fn first(&self, queue: &Receiver<Message>) -> Option<Vec<Box<dyn Job>>> {
        let mut jobs: Vec<Box<dyn Job>> = Vec::new();
        let wait = self.leases.wait();
        let came = match wait {
            None => queue.recv().map_err(RecvTimeoutError::from),
            Some(wait) => queue.recv_timeout(wait),
        };
        // Also when there is always something to do.
        if self.leases.wait().is_some_and(|wait| wait.is_zero()) {
            jobs.push(Box::new(Renewal));
        }
        match came {
            Ok(Message::Work(job)) => jobs.push(job),
            Err(RecvTimeoutError::Timeout) => {}
            Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return None,
        }
        Some(jobs)
    }

    /// Does jobs in one transaction and answers them after its commit.
    fn commit(&self, mut jobs: Vec<Box<dyn Job>>, buffer: &RefCell<Vec<u8>>) {
        let writing = Writing {
            connection: &self.connection,
            writer: self,
            buffer,
            tail: Cell::new(None),
        };
        if jobs.is_empty() {
            return;
        }
        let outcomes = self
            .execute("BEGIN IMMEDIATE")
            .and_then(|()| work(&writing, &mut jobs))
            .and_then(|outcomes| {
                crash::point("commit.before");
                self.execute("COMMIT").map(|()| outcomes)
            });
        crash::point("commit.after");
        if outcomes.is_ok()
            && let Some(tail) = writing.tail.get()
        {
            self.marker.put(&tail);
            crash::point("mark.after");
        }
        match outcomes {
            Ok(outcomes) => jobs
                .into_iter()
                .zip(outcomes)
                .for_each(|(job, outcome)| job.answer(outcome)),
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

    fn execute(&self, sql: &str) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute([]))
            .map(drop)
            .map_err(|error| StoreError::sqlite(&self.path, &error))
    }

    /// Gives back what this store holds. A small log stays beside the database, because moving
    /// it costs more than the next opening saves.
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

/// Does jobs inside a transaction. One that fails takes only its own changes back; an error
/// here means that everything is to be taken back, or that SQLite has done so.
fn work(
    writing: &Writing<'_>,
    jobs: &mut [Box<dyn Job>],
) -> Result<Vec<Result<(), StoreError>>, StoreError> {
    if let [alone] = jobs {
        // All changes are its own.
        return alone.work(writing).map(|()| vec![Ok(())]);
    }
    let mut outcomes = Vec::with_capacity(jobs.len());
    for job in jobs {
        writing.writer.execute("SAVEPOINT job")?;
        let outcome = job.work(writing);
        if let Err(error) = &outcome {
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
