//! Who works on a run: the rows of the table `owners`.

use rusqlite::{Connection, OptionalExtension};

use super::holder::Holder;
use super::lease::{self, Lease};
use super::{StoreError, Token};
use crate::name::RunId;
use crate::time::Moment;

/// What a run is taken for.
pub(super) struct Term<'a> {
    /// Whom step processes are given to.
    pub keeper: &'a str,
    /// When it begins.
    pub now: Moment,
    /// When it ends, on the clock that runs since the boot.
    pub end: i64,
}

/// Takes a run; gives the lease of somebody else who has it.
pub(super) fn take(
    connection: &Connection,
    holder: &Holder,
    run: &RunId,
    term: &Term<'_>,
) -> rusqlite::Result<Result<Token, Lease>> {
    let newest = newest(connection, run)?;
    let number = newest.as_ref().map_or(1, |lease| lease.token + 1);
    if let Some(lease) = newest.filter(|lease| !lease.lapsed) {
        return Ok(Err(lease));
    }
    let me = &holder.process;
    connection
        .prepare_cached(
            "INSERT INTO owners
                 (run, token, keeper, since, expires, pid, start, boot, ns, store, first)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, coalesce((SELECT max(n)
                 FROM events WHERE run = (SELECT key FROM runs WHERE id = ?1)), 0))",
        )?
        .execute((
            run.as_str(),
            number.cast_signed(),
            term.keeper,
            term.now.millis(),
            term.end,
            me.pid,
            me.start,
            &me.boot,
            me.ns,
            holder.store,
        ))?;
    let run = run.clone();
    Ok(Ok(Token { run, number }))
}

/// Puts the end of a lease off; says whether the run still is its holder's.
pub(super) fn renew(connection: &Connection, token: &Token, end: i64) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "UPDATE owners SET expires = ?3 WHERE run = ?1 AND token = ?2
             AND released IS NULL AND token = (SELECT max(token) FROM owners WHERE run = ?1)",
        )?
        .execute((token.run.as_str(), token.number.cast_signed(), end))
        .map(|rows| rows == 1)
}

/// Gives a run back.
pub(super) fn give_back(
    connection: &Connection,
    token: &Token,
    now: Moment,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE owners SET released = ?3 WHERE run = ?1 AND token = ?2 AND released IS NULL",
        )?
        .execute((token.run.as_str(), token.number.cast_signed(), now.millis()))
        .map(drop)
}

/// Why nothing may be written under a token, if so: it is asked before each write, in the same
/// transaction.
pub(super) fn refusal(
    connection: &Connection,
    token: &Token,
) -> rusqlite::Result<Option<StoreError>> {
    let newest = connection
        .prepare_cached(
            "SELECT token, pid, released IS NULL FROM owners WHERE run = ?1
             ORDER BY token DESC LIMIT 1",
        )?
        .query_row([token.run.as_str()], |row| {
            Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let (number, pid, held) = newest.unwrap_or((0, 0, true));
    if held && number.unsigned_abs() == token.number {
        return Ok(None);
    }
    let by = (number.unsigned_abs() != token.number).then_some(pid);
    let run = token.run.clone();
    Ok(Some(StoreError::Fenced { run, by }))
}

/// The lease of a run that was taken last.
pub(super) fn newest(connection: &Connection, run: &RunId) -> rusqlite::Result<Option<Lease>> {
    let sql = format!(
        "SELECT {} FROM owners WHERE run = ?1 ORDER BY token DESC LIMIT 1",
        lease::COLUMNS
    );
    connection
        .prepare_cached(&sql)?
        .query_row([run.as_str()], lease::read)
        .optional()
}

/// The run that a run is nested in, at the top.
pub(super) fn root(connection: &Connection, run: &str) -> rusqlite::Result<RunId> {
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
