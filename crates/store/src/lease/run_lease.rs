//! The leases of runs: the rows of the table `run_leases`, each the right of one process to work on a run.

use std::{fmt, time::Duration};

use rusqlite::{Connection, Row};

use crate::{
    column::RowColumns,
    error::StoreError,
    lease::{
        holder::LeaseHolder,
        process::{ProcessIdentity, ProcessLiveness, since_boot},
    },
    query,
};
use wf_base::{name::RunId, time::Moment};

/// The time for which a run stays with a process showing no sign of life and cannot be seen to be dead.
pub const LEASE: Duration = Duration::from_secs(30);

/// The right of one process to work on a run, with the number it writes under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLease {
    /// The token: one more than that of the previous owner.
    pub token: u64,
    /// The process.
    pub pid: u32,
    /// The start of the process, in ticks since the boot; zero if unknown.
    pub start_ticks: i64,
    /// The boot of the machine; empty if unknown.
    pub boot: String,
    /// The namespace of the process id; zero if unknown.
    pub namespace: i64,
    /// The supervisor of its step processes; empty if none.
    pub supervisor: String,
    /// The number of the run's last event when it was taken: the events following, up to the `first` of the
    /// next lease, are this owner's.
    pub first_event: u64,
    /// The time it was taken.
    pub acquired_at: Moment,
    /// The remaining time when it was read; zero if it has run out.
    pub remaining: Duration,
    /// The time it was released. A time before it was taken: a restore did that, and its process did not.
    pub released: Option<Moment>,
    /// True if the process can be looked up from here; false if it runs in another container.
    pub is_local: bool,
    /// True if another process may take the run.
    pub may_be_taken: bool,
    pub(crate) store: i64,
}

pub(crate) const COLUMNS: &str = "token, pid, start_ticks, boot_id, pid_ns, supervisor, first_event, acquired_at, expires, released, store";

/// Reads a row, and looks up its process.
pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<RunLease> {
    let process =
        ProcessIdentity { pid: row.get(1)?, start: row.get(2)?, boot: row.get(3)?, ns: row.get(4)? };
    let left = row.get::<_, i64>(8)?.saturating_sub(since_boot());
    let released = row.moment_if(9)?;
    let seen = process.liveness();
    Ok(RunLease {
        token: row.get::<_, i64>(0)?.unsigned_abs(),
        pid: process.pid,
        start_ticks: process.start,
        boot: process.boot,
        namespace: process.ns,
        supervisor: row.get(5)?,
        first_event: row.get::<_, i64>(6)?.unsigned_abs(),
        acquired_at: row.moment(7)?,
        remaining: Duration::from_millis(u64::try_from(left).unwrap_or(0)),
        is_local: seen != ProcessLiveness::OtherNamespace,
        may_be_taken: may_be_taken(released.is_some(), seen, left),
        released,
        store: row.get(10)?,
    })
}

impl RunLease {
    /// Returns the time at which its own process released it; `None`: that has it, died, or was left behind by a restore.
    pub fn released_by_owner(&self) -> Option<Moment> {
        self.released.filter(|at| *at >= self.acquired_at)
    }
}

/// True if a run may be taken over: an owner that released it or is dead has lost it; one whose
/// death cannot be seen has it until the lease ends, which a working process keeps renewing.
fn may_be_taken(released: bool, liveness: ProcessLiveness, left: i64) -> bool {
    released
        || match liveness {
            ProcessLiveness::OtherBoot | ProcessLiveness::Exited => true,
            ProcessLiveness::Alive | ProcessLiveness::OtherNamespace => left <= 0,
        }
}

/// Formats the holder, the time it was taken, and the remaining time.
impl fmt::Display for RunLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let apart = if self.is_local { "" } else { " in another container" };
        let seconds = self.remaining.as_millis().div_ceil(1000);
        write!(f, "process {}{apart} since {}; lease expires in {seconds} s", self.pid, self.acquired_at)
    }
}

/// The number an owner of a run writes under. Writes under any number but the run's newest are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FencingToken {
    /// The owned run; runs nested in it are written under the same token.
    pub run: RunId,
    /// The number; zero is valid for a run that was never owned.
    pub number: u64,
}

impl FencingToken {
    pub(crate) fn first(run: &RunId) -> Self {
        Self { run: run.clone(), number: 1 }
    }
}

/// The terms on which a run is taken.
pub(crate) struct LeaseTerms<'a> {
    /// The supervisor of the step processes.
    pub supervisor: &'a str,
    /// The start.
    pub now: Moment,
    /// The end, on the clock running since the boot.
    pub end: i64,
}

/// Takes a run; returns the lease of another owner if there is one.
pub(crate) fn take(
    connection: &Connection,
    holder: &LeaseHolder,
    run: &RunId,
    term: &LeaseTerms<'_>,
) -> rusqlite::Result<Result<FencingToken, RunLease>> {
    let newest = newest(connection, run)?;
    let number = newest.as_ref().map_or(1, |lease| lease.token + 1);
    if let Some(lease) = newest.filter(|lease| !lease.may_be_taken) {
        return Ok(Err(lease));
    }
    let me = &holder.process;
    connection
        .prepare_cached(
            "INSERT INTO run_leases
                 (run, token, supervisor, acquired_at, expires, pid, start_ticks, boot_id, pid_ns, store, first_event)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, coalesce((SELECT max(run_seq)
                 FROM events WHERE run = (SELECT key FROM runs WHERE id = ?1)), 0))",
        )?
        .execute((
            run.as_str(),
            number.cast_signed(),
            term.supervisor,
            term.now.millis(),
            term.end,
            me.pid,
            me.start,
            &me.boot,
            me.ns,
            holder.store,
        ))?;
    let run = run.clone();
    Ok(Ok(FencingToken { run, number }))
}

/// Extends a lease; returns true if its holder still has the run.
pub(crate) fn renew(connection: &Connection, token: &FencingToken, end: i64) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "UPDATE run_leases SET expires = ?3 WHERE run = ?1 AND token = ?2
             AND released IS NULL AND token = (SELECT max(token) FROM run_leases WHERE run = ?1)",
        )?
        .execute((token.run.as_str(), token.number.cast_signed(), end))
        .map(|rows| rows == 1)
}

/// Releases a run.
pub(crate) fn give_back(connection: &Connection, token: &FencingToken, now: Moment) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE run_leases SET released = ?3 WHERE run = ?1 AND token = ?2 AND released IS NULL",
        )?
        .execute((token.run.as_str(), token.number.cast_signed(), now.millis()))
        .map(drop)
}

/// Returns the reason why nothing may be written under a token, if there is one; checked before
/// each write, in the same transaction.
pub(crate) fn refusal(connection: &Connection, token: &FencingToken) -> rusqlite::Result<Option<StoreError>> {
    let sql =
        "SELECT token, pid, released IS NULL FROM run_leases WHERE run = ?1 ORDER BY token DESC LIMIT 1";
    let newest = query::first(connection, sql, [token.run.as_str()], |row| {
        Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?))
    })?;
    let (number, pid, held) = newest.unwrap_or((0, 0, true));
    if held && number.unsigned_abs() == token.number {
        return Ok(None);
    }
    let by = (number.unsigned_abs() != token.number).then_some(pid);
    let run = token.run.clone();
    Ok(Some(StoreError::Fenced { run, by }))
}

/// Returns the latest lease of a run.
pub(crate) fn newest(connection: &Connection, run: &RunId) -> rusqlite::Result<Option<RunLease>> {
    let sql = format!("SELECT {COLUMNS} FROM run_leases WHERE run = ?1 ORDER BY token DESC LIMIT 1");
    query::first(connection, &sql, [run.as_str()], read)
}

/// Returns the outermost run a run is nested in.
pub(crate) fn root(connection: &Connection, run: &str) -> rusqlite::Result<RunId> {
    let sql = "WITH RECURSIVE above (id, parent) AS
                   (SELECT id, parent FROM runs WHERE id = ?1
                    UNION SELECT runs.id, runs.parent FROM runs JOIN above ON runs.id = above.parent)
               SELECT id FROM above WHERE parent IS NULL";
    let root = query::first(connection, sql, [run], |row| row.run(0))?;
    Ok(root.unwrap_or_else(|| RunId::from_stored(run.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::{ProcessLiveness, may_be_taken};

    #[test]
    fn a_run_is_taken_from_the_dead_at_once_and_from_others_when_the_lease_ends() {
        for (released, seen, left, may) in [
            (false, ProcessLiveness::Alive, 1, false),
            (false, ProcessLiveness::Alive, 0, true),
            (false, ProcessLiveness::Alive, -1, true),
            (false, ProcessLiveness::OtherNamespace, 1, false),
            (false, ProcessLiveness::OtherNamespace, 0, true),
            (false, ProcessLiveness::Exited, 30_000, true),
            (false, ProcessLiveness::Exited, 0, true),
            (false, ProcessLiveness::OtherBoot, i64::MAX, true),
            (true, ProcessLiveness::Alive, 30_000, true),
            (true, ProcessLiveness::OtherNamespace, 30_000, true),
        ] {
            let found = may_be_taken(released, seen, left);
            assert_eq!(found, may, "{released} {seen:?} {left}");
        }
    }
}
