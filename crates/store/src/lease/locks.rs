//! The locks of tasks: the rows of the table `locks`.
//!
//! A task takes all its locks in one transaction, or none, so no two tasks wait for each other in a circle. While it waits, it has
//! a row without `acquired_at` for each of them. [`TicketQueue`] says whose turn it is. Each task asks for itself: a turn of
//! another one waits for that one to ask. A task asking for the first time with [`LockBusyPolicy::Newest`] marks those it replaces
//! in the same transaction, so they are replaced also if their processes are dead, and are resumed later.

use std::collections::BTreeSet;

use rusqlite::{Connection, Row};

use crate::{
    column::RowColumns,
    lease::{
        holder::LeaseHolder,
        process::{ProcessIdentity, ProcessLiveness},
        run_lease,
    },
};
use wf_base::{name::RunId, time::Moment};
use wf_core::{
    machine::{LockHolder, LockKey, TaskLocks},
    ticket_queue::{LockEntry, LockObstacle, TicketQueue},
};
use wf_model::LockBusyPolicy;

/// The result of asking for the locks of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockAcquisition {
    /// Another task holds one of them, or gets it first.
    Held(LockObstacle),
    /// The task that asked has them.
    Acquired,
    /// The task that asked has them now. These previous holders are dead, and may have left processes running.
    TakenOver(Vec<LockHolder>),
    /// Another run has the lock, and the task does not wait for it.
    Refused(LockObstacle),
    /// The task waits no longer, since this newer run waits in its place.
    Replaced(RunId),
}

/// A task waiting for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockWait {
    pub run: RunId,
    /// The task, as shown: `step[item]`.
    pub place: String,
    /// The beginning of the wait.
    pub since: Moment,
    /// The task keeping it waiting, with the lock; `None` if it may proceed.
    pub obstacle: Option<LockObstacle>,
}

/// A request for the locks of a task.
pub(crate) struct LockRequest<'a> {
    pub locks: &'a TaskLocks,
    pub run: &'a RunId,
    pub place: &'a str,
    pub now: Moment,
}

/// The rows of a task.
#[derive(Clone, PartialEq, Eq)]
struct LockRows {
    process: ProcessIdentity,
    store: i64,
    ticket: i64,
    since: Moment,
    when_busy: LockBusyPolicy,
    replaced_by: Option<RunId>,
    entry: LockEntry,
}

const SELECT: &str =
    "SELECT pid, start_ticks, boot_id, pid_ns, store, ticket, requested_at, kind, name, run, outermost, task,
     acquired_at IS NOT NULL, when_busy, replaced_by FROM locks ORDER BY ticket, kind DESC, name";

/// The rows of a run (`?1`) and of the runs nested in it.
const IN_FAMILY: &str = "run IN (WITH RECURSIVE below (id) AS
     (SELECT ?1 UNION SELECT runs.id FROM runs JOIN below ON runs.parent = below.id) SELECT id FROM below)";

impl LockRows {
    /// True if the process may still be working.
    fn lives(&self, connection: &Connection) -> rusqlite::Result<bool> {
        may_work(connection, &self.process, self.entry.run.as_str())
    }

    fn is_of(&self, holder: &LeaseHolder) -> bool {
        self.process == holder.process && self.store == holder.store
    }

    /// Returns the task as the holder of a lock.
    fn holder(&self, key: &LockKey) -> LockHolder {
        let LockEntry { run, place, .. } = &self.entry;
        LockHolder { key: key.clone(), run: run.clone(), place: place.clone(), waits: false }
    }

    fn delete(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection
            .prepare_cached("DELETE FROM locks WHERE run = ?1 AND task = ?2")?
            .execute((self.entry.run.as_str(), &self.entry.place))
            .map(drop)
    }

    /// Lets the task wait in place of those of other runs waiting for the same lock, if they and it say so. A run with
    /// the lock goes on, and waits for it again.
    fn replace_older(&self, connection: &Connection, other_rows: &mut [LockRows]) -> rusqlite::Result<()> {
        let newest = LockBusyPolicy::Newest;
        if self.when_busy != newest {
            return Ok(());
        }
        let own = &self.entry;
        let has_name =
            |next_rows: &LockRows| matches!(own.contention(&next_rows.entry), Some((LockKey::Name(_), _)));
        let holders = other_rows.iter().filter(|other| other.entry.is_held && has_name(other));
        let mut spared: BTreeSet<RunId> = holders.map(|other| other.entry.outermost.clone()).collect();
        spared.insert(own.outermost.clone());
        for other in other_rows.iter_mut().filter(|other| other.when_busy == newest && has_name(other)) {
            if !spared.contains(&other.entry.outermost) {
                other.replaced_by = Some(own.outermost.clone());
                connection
                    .prepare_cached("UPDATE locks SET replaced_by = ?3 WHERE run = ?1 AND task = ?2")?
                    .execute((other.entry.run.as_str(), &other.entry.place, own.outermost.as_str()))?;
            }
        }
        Ok(())
    }

    /// Removes the tasks of dead processes that have what the task needs, and returns them with their locks.
    fn dead_holders(
        &self,
        connection: &Connection,
        other_rows: &mut Vec<LockRows>,
    ) -> rusqlite::Result<Vec<LockHolder>> {
        let (mut dead, mut kept) = (Vec::new(), Vec::with_capacity(other_rows.len()));
        for other in other_rows.drain(..) {
            match self.entry.contention(&other.entry).filter(|_| other.entry.is_held) {
                Some((_, theirs)) if !other.lives(connection)? => dead.push(other.holder(theirs)),
                _ => kept.push(other),
            }
        }
        *other_rows = kept;
        Ok(dead)
    }

    /// Replaces the rows of the task; `acquired`: it has its locks since then.
    fn write(&self, connection: &Connection, acquired: Option<Moment>) -> rusqlite::Result<()> {
        let LockEntry { run, outermost, place, lock_keys, .. } = &self.entry;
        self.delete(connection)?;
        let mut insert = connection.prepare_cached(
            "INSERT INTO locks (pid, start_ticks, boot_id, pid_ns, store, ticket, requested_at, kind, name, run,
                 outermost, task, acquired_at, when_busy)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?;
        for key in lock_keys {
            let (kind, name) = columns(key);
            insert.execute(rusqlite::params![
                self.process.pid,
                self.process.start,
                self.process.boot,
                self.process.ns,
                self.store,
                self.ticket,
                self.since.millis(),
                kind,
                name,
                run.as_str(),
                outermost.as_str(),
                place,
                acquired.map(Moment::millis),
                self.when_busy.as_str(),
            ])?;
        }
        Ok(())
    }
}

impl LockRequest<'_> {
    /// Takes the locks if it is the turn of the task; else notes that it waits.
    pub(crate) fn take(
        &self,
        connection: &Connection,
        holder: &LeaseHolder,
    ) -> rusqlite::Result<LockAcquisition> {
        let mut all = rows(connection)?;
        let own = all.iter().position(|rows| rows.entry.run == *self.run && rows.entry.place == self.place);
        let own = own.map(|at| all.remove(at));
        // Its rows are those of another process, if that works on the same task.
        if let Some(other) = own.as_ref().filter(|own| own.entry.is_held && !own.is_of(holder))
            && let Some(key) = other.entry.lock_keys.first()
            && other.lives(connection)?
        {
            let outermost = other.entry.outermost.clone();
            let obstacle = LockObstacle { key: key.clone(), holder: other.holder(key), outermost, ahead: 0 };
            return Ok(LockAcquisition::Held(obstacle));
        }
        if let Some((own, newer)) = own.as_ref().and_then(|own| Some((own, own.replaced_by.clone()?))) {
            own.delete(connection)?;
            return Ok(LockAcquisition::Replaced(newer));
        }
        let mut wish = self.wish(connection, holder, own.as_ref(), all.last())?;
        if own.as_ref().is_some_and(|own| own.entry.is_held && own.is_of(holder)) {
            return Ok(LockAcquisition::Acquired);
        }
        if own.is_none() {
            wish.replace_older(connection, &mut all)?;
        }
        all.retain(|other| other.replaced_by.is_none());
        let dead = wish.dead_holders(connection, &mut all)?;
        if let Some(obstacle) = obstacle(connection, all, &wish)? {
            let is_of_other = obstacle.outermost != wish.entry.outermost;
            let is_named = matches!(obstacle.key, LockKey::Name(_));
            if wish.when_busy == LockBusyPolicy::Refuse && is_of_other && is_named {
                wish.delete(connection)?;
                return Ok(LockAcquisition::Refused(obstacle));
            }
            if own.as_ref() != Some(&wish) {
                wish.write(connection, None)?;
            }
            return Ok(LockAcquisition::Held(obstacle));
        }
        for lock in &dead {
            let (kind, name) = columns(&lock.key);
            connection
                .prepare_cached("DELETE FROM locks WHERE kind = ?1 AND name = ?2 AND run = ?3 AND task = ?4")?
                .execute((kind, name, lock.run.as_str(), &lock.place))?;
        }
        wish.entry.is_held = true;
        if own.as_ref() != Some(&wish) {
            wish.write(connection, Some(self.now))?;
        }
        Ok(if dead.is_empty() { LockAcquisition::Acquired } else { LockAcquisition::TakenOver(dead) })
    }

    /// Returns the rows of the task as one waiting, with its number in the queue if it has one, and else the next.
    fn wish(
        &self,
        connection: &Connection,
        holder: &LeaseHolder,
        own_rows: Option<&LockRows>,
        last_rows: Option<&LockRows>,
    ) -> rusqlite::Result<LockRows> {
        Ok(LockRows {
            process: holder.process.clone(),
            store: holder.store,
            ticket: own_rows.map_or_else(|| last_rows.map_or(1, |last| last.ticket + 1), |own| own.ticket),
            since: own_rows.map_or(self.now, |own| own.since),
            when_busy: self.locks.when_busy,
            replaced_by: None,
            entry: LockEntry {
                run: self.run.clone(),
                outermost: run_lease::root(connection, self.run.as_str())?,
                place: self.place.to_owned(),
                lock_keys: self.locks.keys().collect(),
                is_held: false,
            },
        })
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
            let root = run_lease::root(connection, run)?;
            run_lease::newest(connection, &root)?.is_some_and(|lease| !lease.may_be_taken)
        }
    })
}

/// Releases every lock a run and the runs nested in it have, regardless of the holder, after the run was taken over.
/// Their waiting tasks keep their turns.
pub(crate) fn release(connection: &Connection, run: &RunId) -> rusqlite::Result<()> {
    connection
        .prepare_cached(&format!("DELETE FROM locks WHERE acquired_at IS NOT NULL AND {IN_FAMILY}"))?
        .execute([run.as_str()])
        .map(drop)
}

/// Removes what tasks of a run that has ended, and of the runs nested in it, wait for.
pub(crate) fn forget_waits(connection: &Connection, run: &RunId) -> rusqlite::Result<()> {
    for table in ["locks", "permits"] {
        connection
            .prepare_cached(&format!("DELETE FROM {table} WHERE acquired_at IS NULL AND {IN_FAMILY}"))?
            .execute([run.as_str()])?;
    }
    Ok(())
}

/// Returns the locks whose holders are dead.
pub(crate) fn stale(connection: &Connection) -> rusqlite::Result<Vec<LockHolder>> {
    let mut stale = Vec::new();
    for rows in rows(connection)? {
        if rows.entry.is_held && !rows.lives(connection)? {
            stale.extend(rows.entry.lock_keys.iter().map(|key| rows.holder(key)));
        }
    }
    stale.sort_by(|one, two| (&one.key, &one.run, &one.place).cmp(&(&two.key, &two.run, &two.place)));
    Ok(stale)
}

/// Returns the waits of living tasks, in the order in which they are served.
pub(crate) fn waits(connection: &Connection) -> rusqlite::Result<Vec<LockWait>> {
    let mut all = living(connection, rows(connection)?)?;
    all.retain(|rows| rows.replaced_by.is_none());
    let queue = TicketQueue { entries: all.iter().map(|rows| rows.entry.clone()).collect() };
    let waits = all.into_iter().enumerate().filter(|(_, rows)| !rows.entry.is_held);
    let waits = waits.map(|(position, LockRows { since, entry, .. })| LockWait {
        run: entry.run,
        place: entry.place,
        since,
        obstacle: queue.obstacle(position),
    });
    Ok(waits.collect())
}

/// Returns what keeps a task from its locks, given the others whose locks are not free for it.
fn obstacle(
    connection: &Connection,
    other_rows: Vec<LockRows>,
    wished_rows: &LockRows,
) -> rusqlite::Result<Option<LockObstacle>> {
    // While one of them holds a lock, it does not matter which of those who wait are alive.
    let is_held = other_rows
        .iter()
        .any(|rows| rows.entry.is_held && wished_rows.entry.contention(&rows.entry).is_some());
    let others = if is_held { other_rows } else { living(connection, other_rows)? };
    let position = others.partition_point(|rows| rows.ticket < wished_rows.ticket);
    let mut entries: Vec<LockEntry> = others.into_iter().map(|rows| rows.entry).collect();
    entries.insert(position, wished_rows.entry.clone());
    Ok(TicketQueue { entries }.obstacle(position))
}

/// Returns the rows of tasks that may still be working.
fn living(connection: &Connection, all_rows: Vec<LockRows>) -> rusqlite::Result<Vec<LockRows>> {
    let mut living = Vec::with_capacity(all_rows.len());
    for rows in all_rows {
        if rows.lives(connection)? {
            living.push(rows);
        }
    }
    Ok(living)
}

/// Returns the rows by task, in the order of the tickets.
fn rows(connection: &Connection) -> rusqlite::Result<Vec<LockRows>> {
    let mut select = connection.prepare_cached(SELECT)?;
    let mut rows: Vec<LockRows> = Vec::new();
    for row in select.query_map([], read)? {
        let mut row = row?;
        match rows.last_mut().filter(|last| last.ticket == row.ticket) {
            Some(last) => last.entry.lock_keys.append(&mut row.entry.lock_keys),
            None => rows.push(row),
        }
    }
    Ok(rows)
}

/// Returns the kind and the name of a lock, as they are stored.
fn columns(key: &LockKey) -> (&'static str, &str) {
    match key {
        LockKey::Name(name) => ("name", name),
        LockKey::File(path) => ("file", path),
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<LockRows> {
    let name: String = row.get(8)?;
    let key = match row.get::<_, String>(7)?.as_str() {
        "file" => LockKey::File(name),
        _ => LockKey::Name(name),
    };
    Ok(LockRows {
        process: ProcessIdentity { pid: row.get(0)?, start: row.get(1)?, boot: row.get(2)?, ns: row.get(3)? },
        store: row.get(4)?,
        ticket: row.get(5)?,
        since: Moment::from_millis(row.get(6)?),
        entry: LockEntry {
            run: row.run(9)?,
            outermost: row.run(10)?,
            place: row.get(11)?,
            lock_keys: vec![key],
            is_held: row.get(12)?,
        },
        when_busy: row.word(13)?,
        replaced_by: row.run_if(14)?,
    })
}
