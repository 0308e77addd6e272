//! The locks of tasks: the rows of the table `locks`.
//!
//! A task takes all its locks in one transaction, or none, so no two tasks wait for each other in a circle. A row without
//! `acquired_at` is a wait, which keeps nobody from anything.

use rusqlite::{Connection, Row};

use super::holder::LeaseHolder;
use super::owners;
use super::process::{ProcessIdentity, ProcessLiveness};
use wf_base::name::RunId;
use wf_base::time::Moment;
use wf_core::machine::{LockHolder, LockKey, TaskLocks};

/// The result of asking for the locks of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockAcquisition {
    /// Another task holds one of them.
    Held(LockHolder),
    /// The task that asked has them.
    Acquired,
    /// The task that asked has them now. These previous holders are dead, and may have left processes running.
    TakenOver(Vec<LockHolder>),
}

/// A task that waits for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockWait {
    /// Its run.
    pub run: RunId,
    /// The task, as shown: `step[item]`.
    pub place: String,
    /// The beginning of the wait.
    pub since: Moment,
    /// The lock.
    pub key: LockKey,
    /// Its holder; `None` if it has become free.
    pub holder: Option<LockHolder>,
}

/// A request for the locks of a task.
pub(super) struct LockRequest<'a> {
    pub locks: &'a TaskLocks,
    pub run: &'a RunId,
    pub place: &'a str,
    pub now: Moment,
}

/// A row of the table.
struct LockRow {
    process: ProcessIdentity,
    store: i64,
    lock: LockHolder,
}

/// The columns of a row.
const COLUMNS: &str = "pid, start_ticks, boot_id, pid_ns, store, kind, name, run, task";

/// The rows of holders that exclude a lock of a kind (`?1`) and name (`?2`): of the same name, or, for a file of
/// another run (`?3`), of the same path, a folder above it, or something in it.
const RIVALS: &str = "kind = ?1 AND acquired_at IS NOT NULL AND iif(kind = 'name', name = ?2,
     run <> ?3 AND (name = ?2 OR substr(?2, 1, length(name) + 1) = name || '/'
                              OR substr(name, 1, length(?2) + 1) = ?2 || '/'))";

impl LockRow {
    /// True if its holder may still be working.
    fn holds(&self, connection: &Connection) -> rusqlite::Result<bool> {
        may_work(connection, &self.process, self.lock.run.as_str())
    }
}

impl LockRequest<'_> {
    /// Takes the locks if each is free, or its holder is dead; else notes that the task waits.
    pub(super) fn take(
        &self,
        connection: &Connection,
        holder: &LeaseHolder,
    ) -> rusqlite::Result<LockAcquisition> {
        let mut dead = Vec::new();
        for key in self.locks.keys() {
            for rival in rivals(connection, &key, self.run.as_str())? {
                let same = rival.lock.run == *self.run && rival.lock.place == self.place;
                if same && rival.process == holder.process && rival.store == holder.store {
                    continue;
                }
                if rival.holds(connection)? {
                    self.forget_waits(connection, Some(&key))?;
                    // Its row is that of the holder, if another process has it for the same task.
                    if !same {
                        self.write(connection, holder, &key, None)?;
                    }
                    return Ok(LockAcquisition::Held(rival.lock));
                }
                // Its own earlier work is taken over without a wait for it.
                if !same {
                    dead.push(rival.lock);
                }
            }
        }
        for lock in &dead {
            let (kind, name) = columns(&lock.key);
            connection
                .prepare_cached("DELETE FROM locks WHERE kind = ?1 AND name = ?2 AND run = ?3 AND task = ?4")?
                .execute((kind, name, lock.run.as_str(), &lock.place))?;
        }
        self.forget_waits(connection, None)?;
        for key in self.locks.keys() {
            self.write(connection, holder, &key, Some(self.now))?;
        }
        Ok(if dead.is_empty() { LockAcquisition::Acquired } else { LockAcquisition::TakenOver(dead) })
    }

    /// Removes the waits of the task, except for one lock: it waits for one at a time.
    fn forget_waits(&self, connection: &Connection, except: Option<&LockKey>) -> rusqlite::Result<()> {
        let (kind, name) = except.map_or(("", ""), columns);
        connection
            .prepare_cached(
                "DELETE FROM locks WHERE run = ?1 AND task = ?2 AND acquired_at IS NULL
                 AND NOT (kind = ?3 AND name = ?4)",
            )?
            .execute((self.run.as_str(), self.place, kind, name))
            .map(drop)
    }

    /// Writes the row of a lock that the task has since an instant, or waits for.
    fn write(
        &self,
        connection: &Connection,
        holder: &LeaseHolder,
        key: &LockKey,
        since: Option<Moment>,
    ) -> rusqlite::Result<()> {
        let me = &holder.process;
        let (kind, name) = columns(key);
        connection
            .prepare_cached(
                "INSERT INTO locks (kind, name, run, task, pid, start_ticks, boot_id, pid_ns, store,
                     requested_at, acquired_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
                 ON CONFLICT DO UPDATE SET pid = ?5, start_ticks = ?6, boot_id = ?7, pid_ns = ?8, store = ?9,
                     acquired_at = ?11",
            )?
            .execute((
                kind,
                name,
                self.run.as_str(),
                self.place,
                me.pid,
                me.start,
                &me.boot,
                me.ns,
                holder.store,
                self.now.millis(),
                since.map(Moment::millis),
            ))
            .map(drop)
    }
}

/// True if a process may still be working on a run. One that cannot be looked up counts as working while the lease of
/// the run lasts.
pub(super) fn may_work(
    connection: &Connection,
    process: &ProcessIdentity,
    run: &str,
) -> rusqlite::Result<bool> {
    Ok(match process.liveness() {
        ProcessLiveness::Alive => true,
        ProcessLiveness::Exited | ProcessLiveness::OtherBoot => false,
        ProcessLiveness::OtherNamespace => {
            let root = owners::root(connection, run)?;
            owners::newest(connection, &root)?.is_some_and(|lease| !lease.may_be_taken)
        }
    })
}

/// Releases what a task of this holder has, or waits for.
pub(super) fn give_back(
    connection: &Connection,
    holder: &LeaseHolder,
    run: &RunId,
    place: &str,
) -> rusqlite::Result<()> {
    holder.delete_task(connection, "locks", run, place)
}

/// Releases every lock of a run and of the runs nested in it, regardless of the holder, after the
/// run was taken over.
pub(super) fn release(connection: &Connection, run: &RunId) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "WITH RECURSIVE below (id) AS
                 (SELECT ?1 UNION SELECT runs.id FROM runs JOIN below ON runs.parent = below.id)
             DELETE FROM locks WHERE run IN (SELECT id FROM below)",
        )?
        .execute([run.as_str()])
        .map(drop)
}

/// Returns the locks whose holders are dead.
pub(super) fn stale(connection: &Connection) -> rusqlite::Result<Vec<LockHolder>> {
    let held = format!("SELECT {COLUMNS} FROM locks WHERE acquired_at IS NOT NULL ORDER BY name, run, task");
    let mut stale = Vec::new();
    let rows: Vec<LockRow> = connection.prepare(&held)?.query_map([], read)?.collect::<Result<_, _>>()?;
    for row in rows {
        if !row.holds(connection)? {
            stale.push(row.lock);
        }
    }
    Ok(stale)
}

/// Returns the waits of living tasks, by time.
pub(super) fn waits(connection: &Connection) -> rusqlite::Result<Vec<LockWait>> {
    let waiting = format!(
        "SELECT {COLUMNS}, requested_at FROM locks WHERE acquired_at IS NULL ORDER BY requested_at, run, task"
    );
    let rows: Vec<(LockRow, i64)> = connection
        .prepare(&waiting)?
        .query_map([], |row| Ok((read(row)?, row.get(9)?)))?
        .collect::<Result<_, _>>()?;
    let mut waits = Vec::new();
    for (row, since) in rows {
        if !row.holds(connection)? {
            continue;
        }
        let LockHolder { key, run, place } = row.lock;
        let mut holder = None;
        for rival in rivals(connection, &key, run.as_str())? {
            if rival.holds(connection)? {
                holder = Some(rival.lock);
            }
        }
        waits.push(LockWait { run, place, since: Moment::from_millis(since), key, holder });
    }
    Ok(waits)
}

/// Returns the holders that exclude a lock of a run.
fn rivals(connection: &Connection, key: &LockKey, run: &str) -> rusqlite::Result<Vec<LockRow>> {
    let (kind, name) = columns(key);
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM locks WHERE {RIVALS} ORDER BY name, run, task"))?
        .query_map((kind, name, run), read)?
        .collect()
}

/// Returns the kind and the name of a lock, as they are stored.
fn columns(key: &LockKey) -> (&'static str, &str) {
    match key {
        LockKey::Name(name) => ("name", name),
        LockKey::File(path) => ("file", path),
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<LockRow> {
    let name: String = row.get(6)?;
    let key = match row.get::<_, String>(5)?.as_str() {
        "file" => LockKey::File(name),
        _ => LockKey::Name(name),
    };
    Ok(LockRow {
        process: ProcessIdentity { pid: row.get(0)?, start: row.get(1)?, boot: row.get(2)?, ns: row.get(3)? },
        store: row.get(4)?,
        lock: LockHolder { key, run: RunId::from_stored(row.get::<_, String>(7)?), place: row.get(8)? },
    })
}
