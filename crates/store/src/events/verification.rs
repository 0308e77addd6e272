//! The verification of the whole log, and the hash at the end of a run.

use crate::{
    column::RowColumns,
    db::reader::StoreReader,
    error::StoreError,
    events::run_events::EventRange,
    log::{
        chain::{BrokenChain, COLUMNS, ChainFault, ChainWalk, digest, run_of},
        mark,
        tail::LogPosition,
    },
};
use wf_base::{digest::Sha256Digest, name::RunId};

/// Verifies every event of the log; returns the number of events, or the first that is wrong.
///
/// Events cut from the very end leave no gap. They are detected if the projections know a run, or
/// the end of one, that the log does not, and by the mark of the log's last event.
pub fn verify_chain(reader: &StoreReader) -> Result<Result<u64, BrokenChain>, StoreError> {
    verify_chain_after(reader, None)
}

/// Does the same for the events behind one verified before, with all before it.
pub fn verify_chain_after(
    reader: &StoreReader,
    verified_position: Option<LogPosition>,
) -> Result<Result<u64, BrokenChain>, StoreError> {
    let failed = |error| reader.failed(error);
    // One transaction: the log and the projections as of one instant.
    let snapshot = reader.connection().unchecked_transaction().map_err(failed)?;
    let checked = walk(reader, verified_position)
        .and_then(|walked| match walked {
            // A log that ends at its mark has lost nothing, whatever a table says.
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

/// Returns the hash of the last event of a run, which covers all before it; `None`: it has none.
pub fn head(reader: &StoreReader, run: &RunId) -> Result<Option<Sha256Digest>, StoreError> {
    // All of them: a reader from the log so notices that events are gone from the end.
    let hashes = reader.events().read(run, EventRange::after(-1), |row| digest(row, 5).map(Some))?;
    Ok(hashes.last().copied())
}

/// Follows the hashes from an event on; returns the number of events, or the event and run at which they break.
fn walk(
    reader: &StoreReader,
    verified_position: Option<LogPosition>,
) -> rusqlite::Result<Result<u64, (i64, i64, ChainFault)>> {
    let (mut walk, mut after) = (ChainWalk::default(), i64::MIN);
    if let Some(LogPosition { seq, hash }) = verified_position {
        let stored = mark::hash_of(reader.connection(), seq.cast_signed())?;
        if stored != Some(hash) {
            return Ok(Err((seq.cast_signed(), 0, ChainFault::Unlinked)));
        }
        (walk, after) = (ChainWalk { last: hash, count: seq }, seq.cast_signed());
    }
    let sql = format!("SELECT {COLUMNS} FROM events WHERE seq > ?1 ORDER BY seq");
    let mut events = reader.connection().prepare(&sql)?;
    let mut rows = events.query([after])?;
    while let Some(row) = rows.next()? {
        if let Some(fault) = walk.step(row)? {
            return Ok(Err((row.get(0)?, row.get(1)?, fault)));
        }
    }
    Ok(Ok(walk.count))
}

/// Finds a run whose last events are gone.
fn cut(reader: &StoreReader) -> rusqlite::Result<Option<BrokenChain>> {
    use rusqlite::OptionalExtension;
    let lost = "SELECT id, (SELECT coalesce(max(seq), key - 1) FROM events WHERE run = key) + 1
         FROM runs
         WHERE NOT EXISTS (SELECT 1 FROM events WHERE run = key AND run_seq = 0)
            OR outcome IS NOT NULL AND (SELECT kind FROM events WHERE run = key
                                        ORDER BY run_seq DESC LIMIT 1) IS NOT 'run_ended'
         ORDER BY key LIMIT 1";
    reader
        .connection()
        .query_row(lost, [], |row| {
            Ok(BrokenChain {
                seq: row.get::<_, i64>(1)?.unsigned_abs(),
                run: Some(row.run(0)?),
                fault: ChainFault::Missing,
            })
        })
        .optional()
}
