use rusqlite::{Connection, Row};

use crate::db::reader::StoreReader;
use crate::error::StoreError;
use crate::events::run_events::EventRange;
use crate::log::mark;
use crate::log::tail::{BEGINNING, RunPosition, hash};
use crate::tables::batch::LogPosition;
use wf_base::digest::Sha256Digest;
use wf_base::name::RunId;

/// The first event of the log that differs from what was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} {fault}")]
pub struct BrokenChain {
    /// The number of the event in the log.
    pub seq: u64,
    /// The run of the event, if known.
    pub run: Option<RunId>,
    /// The fault.
    pub fault: ChainFault,
}

/// A fault of an event in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainFault {
    /// The content differs from what was written.
    #[error("was modified")]
    Changed,
    /// The event does not follow the one before: something was dropped, inserted or moved.
    #[error("does not follow the previous event: events were dropped, inserted or moved")]
    Unlinked,
    /// The body is gone, and no record says that its run was pruned.
    #[error("has no body, but the log records no pruning of its run")]
    Bodiless,
    /// The last event of a run is gone.
    #[error("is missing at the end of its run")]
    Missing,
}

/// Verifies every event of the log; returns the number of events, or the first that is wrong.
///
/// Events cut from the very end leave no gap. They are detected if the projections know a run, or
/// the end of one, that the log does not, and by the mark of the log's last event.
pub fn verify_chain(reader: &StoreReader) -> Result<Result<u64, BrokenChain>, StoreError> {
    verify_chain_after(reader, None)
}

/// Does the same for the events behind one that was verified before, with all before it.
pub fn verify_chain_after(
    reader: &StoreReader,
    verified: Option<LogPosition>,
) -> Result<Result<u64, BrokenChain>, StoreError> {
    let failed = |error| reader.failed(&error);
    // One transaction: the log and the projections as of one instant.
    let snapshot = reader.connection().unchecked_transaction().map_err(failed)?;
    let checked = walk(reader, verified)
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
    let hashes = reader.read_events(run, EventRange::after(-1), |row| digest(row, 5).map(Some))?;
    Ok(hashes.last().copied())
}

/// Follows the hashes from an event on; returns the number of events, or the event and run at which they break.
fn walk(
    reader: &StoreReader,
    verified: Option<LogPosition>,
) -> rusqlite::Result<Result<u64, (i64, i64, ChainFault)>> {
    let (mut walk, mut after) = (ChainWalk::default(), i64::MIN);
    if let Some(LogPosition { seq, hash }) = verified {
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

/// A walk along the log, from its beginning.
pub(crate) struct ChainWalk {
    /// The hash of the last event.
    last: Sha256Digest,
    /// The number of events.
    count: u64,
}

impl Default for ChainWalk {
    fn default() -> Self {
        Self { last: BEGINNING.into(), count: 0 }
    }
}

impl ChainWalk {
    /// Takes the next event, a row of [`COLUMNS`]; returns its fault.
    pub(crate) fn step(&mut self, row: &Row<'_>) -> rusqlite::Result<Option<ChainFault>> {
        self.count += 1;
        let own = own_hash(row)?;
        if own != digest(row, 5)? {
            return Ok(Some(ChainFault::Changed));
        }
        if digest(row, 4)? != self.last || row.get::<_, i64>(0)?.unsigned_abs() != self.count {
            return Ok(Some(ChainFault::Unlinked));
        }
        self.last = own;
        Ok(None)
    }
}

/// The columns needed to compare an event with its hash.
pub(crate) const COLUMNS: &str = "seq, run, run_seq, body_version, prev, hash, digest, body";

/// The same columns, the hash of the event before, and the hash that the event behind follows.
pub(crate) const LINKED: &str = "seq, run, run_seq, body_version, prev, hash, digest, body, \
     (SELECT hash FROM events AS before WHERE before.seq < events.seq ORDER BY before.seq DESC LIMIT 1), \
     (SELECT prev FROM events AS behind WHERE behind.seq > events.seq ORDER BY behind.seq LIMIT 1)";

/// Returns the fault of a row of [`LINKED`]: it differs from its hash, it does not follow the event
/// before, or the event behind does not follow it.
///
/// An event that was replaced, with a hash that fits, is so found without a walk along the log: both
/// neighbours would have to be replaced as well, and theirs, up to the end that the mark names.
pub(crate) fn fault(row: &Row<'_>) -> rusqlite::Result<Option<ChainFault>> {
    let own = own_hash(row)?;
    if own != digest(row, 5)? {
        return Ok(Some(ChainFault::Changed));
    }
    let neighbour = |column| row.get::<_, Option<[u8; 32]>>(column);
    let (before, behind) = (neighbour(8)?.unwrap_or(BEGINNING), neighbour(9)?);
    let linked = digest(row, 4)? == before.into() && behind.is_none_or(|prev| own == prev.into());
    Ok((!linked).then_some(ChainFault::Unlinked))
}

/// Computes the hash that a row should have.
fn own_hash(row: &Row<'_>) -> rusqlite::Result<Sha256Digest> {
    let position = RunPosition { run: row.get(1)?, n: row.get(2)?, v: row.get(3)? };
    let body = match row.get_ref(7)?.as_str_or_null()? {
        Some(body) => Sha256Digest::of_bytes(body.as_bytes()),
        None => digest(row, 6)?,
    };
    Ok(hash(&digest(row, 4)?, position, &body))
}

fn digest(row: &Row<'_>, column: usize) -> rusqlite::Result<Sha256Digest> {
    row.get::<_, [u8; 32]>(column).map(Sha256Digest::from)
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
                run: Some(RunId::from_stored(row.get::<_, String>(0)?)),
                fault: ChainFault::Missing,
            })
        })
        .optional()
}

/// Names an event, a row of [`COLUMNS`], with its fault.
pub(crate) fn broken_at(
    connection: &Connection,
    row: &Row<'_>,
    fault: ChainFault,
) -> rusqlite::Result<BrokenChain> {
    let (seq, run): (i64, i64) = (row.get(0)?, row.get(1)?);
    Ok(BrokenChain { seq: seq.unsigned_abs(), run: run_of(connection, run)?, fault })
}

/// Returns the run with a key, if known.
pub(crate) fn run_of(connection: &Connection, key: i64) -> rusqlite::Result<Option<RunId>> {
    use rusqlite::OptionalExtension;
    connection
        .query_row("SELECT id FROM runs WHERE key = ?1", [key], |row| {
            row.get::<_, String>(0).map(RunId::from_stored)
        })
        .optional()
}
