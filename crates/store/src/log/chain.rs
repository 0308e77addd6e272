use rusqlite::{Connection, Row};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    column::RowColumns,
    log::{
        state_event::GoneBodiesOnDemand,
        tail::{BEGINNING, RunPosition, hash},
    },
};
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId, SessionName},
    time::Moment,
};
use wf_model::JsonObject;

/// The first event of the log differing from what was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} {fault}")]
pub struct BrokenChain {
    /// The number of the event in the log.
    pub seq: u64,
    /// The run of the event, if known.
    pub run: Option<RunId>,
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

/// A walk along the log, from its beginning.
pub(crate) struct ChainWalk {
    /// The hash of the last event.
    pub(crate) last: Sha256Digest,
    /// The number of events.
    pub(crate) count: u64,
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

/// The same columns, the hash of the event before, and the hash the event behind follows.
pub(crate) const LINKED: &str = "seq, run, run_seq, body_version, prev, hash, digest, body, \
     (SELECT hash FROM events AS before WHERE before.seq < events.seq ORDER BY before.seq DESC LIMIT 1), \
     (SELECT prev FROM events AS behind WHERE behind.seq > events.seq ORDER BY behind.seq LIMIT 1)";

/// Returns the fault of a row of [`LINKED`]: it differs from its hash, it does not follow the event
/// before, or the event behind does not follow it.
///
/// An event replaced, with a hash fitting, is so found without a walk along the log: both neighbours would
/// have to be replaced as well, and theirs, up to the end the mark names.
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

/// Returns the fault of an event, a row of [`LINKED`], that should follow the one of a number in its run.
pub(crate) fn fault_behind(
    connection: &Connection,
    row: &Row<'_>,
    before: i64,
    gone: &mut GoneBodiesOnDemand,
) -> rusqlite::Result<Option<ChainFault>> {
    let (run, n): (i64, i64) = (row.get(1)?, row.get(2)?);
    let is_bodiless = row.get_ref(7)?.as_str_or_null()?.is_none();
    Ok(match fault(row)? {
        None if n != before + 1 => Some(ChainFault::Unlinked),
        None if is_bodiless && !gone.get(connection)?.keys.contains(&run) => Some(ChainFault::Bodiless),
        found => found,
    })
}

/// Computes the hash a row should have.
fn own_hash(row: &Row<'_>) -> rusqlite::Result<Sha256Digest> {
    let position = RunPosition { run: row.get(1)?, n: row.get(2)?, v: row.get(3)? };
    let body = match row.get_ref(7)?.as_str_or_null()? {
        Some(body) => Sha256Digest::of_bytes(body.as_bytes()),
        None => digest(row, 6)?,
    };
    Ok(hash(&digest(row, 4)?, position, &body))
}

pub(crate) fn digest(row: &Row<'_>, column: usize) -> rusqlite::Result<Sha256Digest> {
    row.get::<_, [u8; 32]>(column).map(Sha256Digest::from)
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
    connection.query_row("SELECT id FROM runs WHERE key = ?1", [key], |row| row.run(0)).optional()
}

/// A run's first row of the log, number 0: `NewRun`, with texts by their digests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NewRunRecord {
    /// The time, named as in an event.
    pub at: Moment,
    pub run: RunId,
    pub plan: PlanId,
    /// The path of its spec.
    pub path: String,
    pub params: JsonObject,
    /// The run and the attempt it is nested in.
    pub parent: Option<(RunId, String)>,
    pub retry_of: Option<RunId>,
    /// The session it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionName>,
    pub sources: Vec<(String, Sha256Digest)>,
    pub config: Value,
}
