//! The holders of named locks: the rows of the table `locks`.

use rusqlite::{Connection, OptionalExtension, Row};

use super::holder::LeaseHolder;
use super::owners;
use super::process::{ProcessIdentity, ProcessLiveness};
use wf_base::name::RunId;
use wf_base::time::Moment;
use wf_core::machine::TaskId;

/// The result of asking for a named lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockAcquisition {
    /// Another task holds it.
    HeldByOther,
    /// The task that asked has it.
    Acquired,
    /// The task that asked has it now. The previous holder is dead, and may have left a process
    /// running.
    TakenOver {
        /// The run of the previous holder.
        run: RunId,
        /// The task of the previous holder, as shown: `step[item]`.
        place: String,
    },
}

/// A request for a lock.
pub(super) struct LockRequest<'a> {
    pub name: &'a str,
    pub run: &'a RunId,
    pub place: &'a TaskId,
    pub now: Moment,
}

/// A row of the table.
struct LockRow {
    process: ProcessIdentity,
    store: i64,
    run: String,
    place: String,
}

impl LockRow {
    /// True if its holder may still be working. A holder that cannot be looked up counts as working
    /// while the lease of its run lasts.
    fn holds(&self, connection: &Connection) -> rusqlite::Result<bool> {
        Ok(match self.process.liveness() {
            ProcessLiveness::Alive => true,
            ProcessLiveness::Exited | ProcessLiveness::OtherBoot => false,
            ProcessLiveness::OtherNamespace => {
                let root = owners::root(connection, &self.run)?;
                owners::newest(connection, &root)?.is_some_and(|lease| !lease.may_be_taken)
            }
        })
    }
}

/// Takes a lock if it is free, or its holder is dead.
pub(super) fn take(
    connection: &Connection,
    holder: &LeaseHolder,
    wish: &LockRequest<'_>,
) -> rusqlite::Result<LockAcquisition> {
    let found = connection
        .prepare_cached(
            "SELECT pid, start_ticks, boot_id, pid_ns, store, run, task FROM locks WHERE name = ?1",
        )?
        .query_row([wish.name], read)
        .optional()?;
    let place = wish.place.to_string();
    if let Some(found) = &found
        && found.holds(connection)?
    {
        let same = found.run == wish.run.as_str() && found.place == place;
        let mine = found.process == holder.process && found.store == holder.store;
        return Ok(if same && mine { LockAcquisition::Acquired } else { LockAcquisition::HeldByOther });
    }
    let me = &holder.process;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO locks (name, run, task, pid, start_ticks, boot_id, pid_ns, store, acquired_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute((
            wish.name,
            wish.run.as_str(),
            place,
            me.pid,
            me.start,
            &me.boot,
            me.ns,
            holder.store,
            wish.now.millis(),
        ))?;
    Ok(found.map_or(LockAcquisition::Acquired, |dead| LockAcquisition::TakenOver {
        run: RunId::from_stored(dead.run),
        place: dead.place,
    }))
}

/// Releases a lock, if a task of this holder has it.
pub(super) fn give_back(
    connection: &Connection,
    holder: &LeaseHolder,
    name: &str,
    run: &RunId,
    place: &TaskId,
) -> rusqlite::Result<()> {
    let me = &holder.process;
    connection
        .prepare_cached(
            "DELETE FROM locks WHERE name = ?1 AND run = ?2 AND task = ?3
             AND pid = ?4 AND start_ticks = ?5 AND boot_id = ?6 AND pid_ns = ?7 AND store = ?8",
        )?
        .execute((name, run.as_str(), place.to_string(), me.pid, me.start, &me.boot, me.ns, holder.store))
        .map(drop)
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

/// Returns the locks whose holders are dead: name, run and task.
pub(super) fn stale(connection: &Connection) -> rusqlite::Result<Vec<(String, RunId, String)>> {
    let all: Vec<(LockRow, String)> = connection
        .prepare("SELECT pid, start_ticks, boot_id, pid_ns, store, run, task, name FROM locks ORDER BY name")?
        .query_map([], |row| Ok((read(row)?, row.get(7)?)))?
        .collect::<Result<_, _>>()?;
    let mut stale = Vec::new();
    for (found, name) in all {
        if !found.holds(connection)? {
            stale.push((name, RunId::from_stored(found.run), found.place));
        }
    }
    Ok(stale)
}

fn read(row: &Row<'_>) -> rusqlite::Result<LockRow> {
    Ok(LockRow {
        process: ProcessIdentity { pid: row.get(0)?, start: row.get(1)?, boot: row.get(2)?, ns: row.get(3)? },
        store: row.get(4)?,
        run: row.get(5)?,
        place: row.get(6)?,
    })
}
