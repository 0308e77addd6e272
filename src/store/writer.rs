use std::cell::{Cell, RefCell};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

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

/// How long something waits at most for what is to become durable with it: nobody waits for it alone.
const SOON: Duration = Duration::from_secs(1);

/// A write-ahead log beyond this size is moved into the database when the store closes.
const LARGE_LOG: u64 = 1 << 20;

/// The owner of the write connection, on a thread of its own.
pub(super) struct Writer {
    /// The connection.
    pub connection: Connection,
    /// Its file, for messages.
    pub path: PathBuf,
    /// Which file that is: the device and the number.
    pub file: (u64, u64),
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

/// Which file a path names.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = path.metadata().ok()?;
    Some((found.dev(), found.ino()))
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
        while open && let Some((mut jobs, more)) = self.first(queue) {
            open = gather(queue, &mut jobs, more);
            self.commit(jobs, &buffer);
        }
        self.close();
    }

    /// Waits for work, or until the leases are to be renewed, and says whether more is on its way;
    /// `None` at the end.
    fn first(&self, queue: &Receiver<Message>) -> Option<(Vec<Box<dyn Job>>, bool)> {
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
        let more = matches!(came, Ok(Message::First(_)));
        match came {
            Ok(Message::Work(job) | Message::First(job)) => jobs.push(job),
            Err(RecvTimeoutError::Timeout) => {}
            Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return None,
        }
        Some((jobs, more))
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
            })
            .and_then(|outcomes| self.is_there().map(|()| outcomes));
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

    /// What is written to a file without a name is gone with this process.
    fn is_there(&self) -> Result<(), StoreError> {
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

/// Adds the jobs that wait, and the one that is on its way, if any is; says whether any will come after
/// them.
fn gather(queue: &Receiver<Message>, jobs: &mut Vec<Box<dyn Job>>, mut more: bool) -> bool {
    while jobs.len() < MOST_JOBS {
        let came = if more {
            queue.recv_timeout(SOON).ok()
        } else {
            queue.try_recv().ok()
        };
        more = matches!(came, Some(Message::First(_)));
        match came {
            Some(Message::Work(job) | Message::First(job)) => jobs.push(job),
            Some(Message::Stop) => return false,
            None => break,
        }
    }
    true
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::{Job, Message, StoreError, Writing, gather};

    struct Nothing;

    impl Job for Nothing {
        fn work(&mut self, _: &Writing<'_>) -> Result<(), StoreError> {
            Ok(())
        }

        fn answer(self: Box<Self>, _: Result<(), StoreError>) {}
    }

    #[test]
    fn what_is_first_goes_with_what_follows() {
        let (send, queue) = channel();
        let mut jobs: Vec<Box<dyn Job>> = vec![Box::new(Nothing)];
        send.send(Message::First(Box::new(Nothing))).unwrap();
        send.send(Message::Work(Box::new(Nothing))).unwrap();
        assert!(gather(&queue, &mut jobs, true), "nobody told it to stop");
        assert_eq!(jobs.len(), 3);
        // Nothing follows: it is not waited for for ever.
        assert!(gather(&queue, &mut jobs, true));
        send.send(Message::Stop).unwrap();
        assert!(!gather(&queue, &mut jobs, true));
        assert_eq!(jobs.len(), 3);
    }
}
