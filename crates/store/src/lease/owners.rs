//! The owners of runs: the rows of the table `owners`.

use rusqlite::{Connection, OptionalExtension};

use crate::error::StoreError;
use crate::lease::holder::LeaseHolder;
use crate::lease::run_lease::{self, RunLease};
use wf_base::name::RunId;
use wf_base::time::Moment;

/// The number that an owner of a run writes under. Writes under any number but the run's newest are
/// refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FencingToken {
    /// The owned run; runs nested in it are written under the same token.
    pub run: RunId,
    /// The number; zero is valid for a run that was never owned.
    pub number: u64,
}

impl FencingToken {
    /// Returns the first token of a run.
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
    /// The end, on the clock that runs since the boot.
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
    let newest = connection
        .prepare_cached(
            "SELECT token, pid, released IS NULL FROM run_leases WHERE run = ?1
             ORDER BY token DESC LIMIT 1",
        )?
        .query_row([token.run.as_str()], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
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
    let sql =
        format!("SELECT {} FROM run_leases WHERE run = ?1 ORDER BY token DESC LIMIT 1", run_lease::COLUMNS);
    connection.prepare_cached(&sql)?.query_row([run.as_str()], run_lease::read).optional()
}

/// Returns the outermost run that a run is nested in.
pub(crate) fn root(connection: &Connection, run: &str) -> rusqlite::Result<RunId> {
    let found = connection
        .prepare_cached(
            "WITH RECURSIVE above (id, parent) AS
                 (SELECT id, parent FROM runs WHERE id = ?1
                  UNION SELECT runs.id, runs.parent FROM runs JOIN above ON runs.id = above.parent)
             SELECT id FROM above WHERE parent IS NULL",
        )?
        .query_row([run], |row| row.get::<_, String>(0))
        .optional()?;
    Ok(RunId::from_stored(found.unwrap_or_else(|| run.to_owned())))
}
