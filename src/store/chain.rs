use rusqlite::{Connection, Row};

use super::log::{BEGINNING, Position, hash};
use super::{Reader, StoreError, mark};
use crate::digest::Digest;
use crate::name::RunId;

/// The first event of the log that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} {fault}")]
pub struct BrokenChain {
    /// Its place in the log.
    pub seq: u64,
    /// Its run, where that is known.
    pub run: Option<RunId>,
    /// What is wrong with it.
    pub fault: ChainFault,
}

/// What is wrong with an event of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainFault {
    /// Its content is not what was written.
    #[error("was changed")]
    Changed,
    /// It does not follow the one before: something was dropped, inserted or moved there.
    #[error("does not follow the event before it: something was dropped, inserted or moved")]
    Unlinked,
    /// Its body is gone, and no record says that its run was pruned.
    #[error("has no body, and the log does not say that its run was pruned")]
    Bodiless,
    /// It was the last of its run and is gone.
    #[error("is gone from the end of its run")]
    Missing,
}

/// Checks every event of the log; gives how many there are, or the first that is wrong.
///
/// What was cut from the very end of the log leaves no gap; it is found where the projections
/// know of a run, or of its end, and the log does not, and by the mark of how far the log reached.
pub fn verify_chain(reader: &Reader) -> Result<Result<u64, BrokenChain>, StoreError> {
    let failed = |error| reader.failed(&error);
    // One transaction: the log and the projections as of one instant.
    let snapshot = reader
        .connection()
        .unchecked_transaction()
        .map_err(failed)?;
    let checked = walk(reader)
        .and_then(|walked| match walked {
            // A log that ends where it is noted to end has lost nothing, whatever a table says.
            Ok(count) if mark::is_at_end(reader.connection(), reader.folder())? => Ok(Ok(count)),
            Ok(count) => Ok(cut(reader)?.map_or(Ok(count), Err)),
            Err((seq, key, fault)) => Ok(Err(BrokenChain {
                seq: seq.unsigned_abs(),
                run: run_of(reader.connection(), key)?,
                fault,
            })),
        })
        .map_err(failed);
    drop(snapshot);
    let checked = checked?;
    if checked.is_ok() {
        mark::check(Some(reader.connection()), reader.folder())?;
    }
    Ok(checked)
}

/// The hash of the last event of a run, which binds all events before it; `None` if there is none.
pub fn head(reader: &Reader, run: &RunId) -> Result<Option<Digest>, StoreError> {
    let sql = "SELECT hash FROM events
               WHERE run = (SELECT key FROM runs WHERE id = ?1) ORDER BY n DESC LIMIT 1";
    let found = reader
        .connection()
        .query_row(sql, [run.as_str()], |row| digest(row, 0));
    match found {
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
        other => other.map(Some).map_err(|error| reader.failed(&error)),
    }
}

/// Follows the hashes; gives the count, or where and in which run they break.
fn walk(reader: &Reader) -> rusqlite::Result<Result<u64, (i64, i64, ChainFault)>> {
    let mut events = reader
        .connection()
        .prepare(&format!("SELECT {COLUMNS} FROM events ORDER BY seq"))?;
    let mut rows = events.query([])?;
    let mut last = Digest::from(BEGINNING);
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        let seq: i64 = row.get(0)?;
        let own = own_hash(row)?;
        let fault = if own != digest(row, 5)? {
            Some(ChainFault::Changed)
        } else if digest(row, 4)? != last || seq.unsigned_abs() != count {
            Some(ChainFault::Unlinked)
        } else {
            None
        };
        if let Some(fault) = fault {
            return Ok(Err((seq, row.get(1)?, fault)));
        }
        last = own;
    }
    Ok(Ok(count))
}

/// What is read of an event to compare it with its hash.
pub(super) const COLUMNS: &str = "seq, run, n, v, prev, hash, digest, body";

/// Whether a row of [`COLUMNS`] has the hash that its content gives.
pub(super) fn intact(row: &Row<'_>) -> rusqlite::Result<bool> {
    Ok(own_hash(row)? == digest(row, 5)?)
}

/// The hash that a row should have.
fn own_hash(row: &Row<'_>) -> rusqlite::Result<Digest> {
    let position = Position {
        run: row.get(1)?,
        n: row.get(2)?,
        v: row.get(3)?,
    };
    let body = match row.get_ref(7)?.as_str_or_null()? {
        Some(body) => Digest::of(body.as_bytes()),
        None => digest(row, 6)?,
    };
    Ok(hash(&digest(row, 4)?, position, &body))
}

fn digest(row: &Row<'_>, column: usize) -> rusqlite::Result<Digest> {
    row.get::<_, [u8; 32]>(column).map(Digest::from)
}

/// Looks for a run whose last events are gone.
fn cut(reader: &Reader) -> rusqlite::Result<Option<BrokenChain>> {
    use rusqlite::OptionalExtension;
    let lost = "SELECT id, (SELECT coalesce(max(seq), key - 1) FROM events WHERE run = key) + 1
         FROM runs
         WHERE NOT EXISTS (SELECT 1 FROM events WHERE run = key AND n = 0)
            OR outcome IS NOT NULL AND (SELECT kind FROM events WHERE run = key
                                        ORDER BY n DESC LIMIT 1) IS NOT 'run_ended'
         ORDER BY key LIMIT 1";
    reader
        .connection()
        .query_row(lost, [], |row| {
            Ok(BrokenChain {
                seq: row.get::<_, i64>(1)?.unsigned_abs(),
                run: Some(RunId::from_stored(row.get::<_, String>(0)?)),
                fault: ChainFault::Missing,
            })
        })
        .optional()
}

/// The run with a key, as far as it is known.
pub(super) fn run_of(connection: &Connection, key: i64) -> rusqlite::Result<Option<RunId>> {
    use rusqlite::OptionalExtension;
    connection
        .query_row("SELECT id FROM runs WHERE key = ?1", [key], |row| {
            row.get::<_, String>(0).map(RunId::from_stored)
        })
        .optional()
}
