use std::path::PathBuf;

use crate::db::reader::StoreReader;
use crate::error::StoreError;
use crate::log::mark;
use crate::maintenance::bodies::{self, BodyFault};
use crate::maintenance::schema::{self, SchemaFault};
use crate::projections::difference::{self, ProjectionDifference};

/// A part of the state beside the log that does not match it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateFault {
    /// The schema differs.
    #[error("{0}")]
    Schema(SchemaFault),
    /// A row of a projection differs.
    #[error("{0}")]
    Projection(ProjectionDifference),
    /// A body differs, or is gone.
    #[error("{0}")]
    Body(BodyFault),
}

impl StoreError {
    /// Makes an error of what differs from the log: tables can be rebuilt, nothing else can.
    pub fn of_faults(path: PathBuf, what: String, faults: &[StateFault]) -> Self {
        if faults.iter().all(|fault| matches!(fault, StateFault::Projection(_))) {
            Self::Differs { path, what }
        } else {
            Self::Tampered { path, what }
        }
    }
}

/// Compares everything beside the log with it, as of one instant: the schema with the migrations,
/// the projections row by row with the events, every stored body with its digest. The log itself
/// must have been verified.
pub fn examine(reader: &StoreReader) -> Result<Vec<StateFault>, StoreError> {
    examine_after(reader, 0)
}

/// Does the same for the runs with events behind one, by its number, and for what belongs to no run. What other runs have
/// in tables, texts and stored files is not read.
pub fn examine_after(reader: &StoreReader, seq: u64) -> Result<Vec<StateFault>, StoreError> {
    let failed = |error| reader.failed(&error);
    let snapshot = reader.connection().unchecked_transaction().map_err(failed)?;
    let schema = schema::faults(reader.connection()).map_err(failed)?;
    if !schema.is_empty() {
        // Data read through another schema proves nothing.
        return Ok(schema.into_iter().map(StateFault::Schema).collect());
    }
    let after = seq.cast_signed();
    let bodies = bodies::events(reader, after).map_err(failed)?;
    let stored = bodies::stored(reader, after).map_err(failed)?;
    let path = reader.folder().database();
    let rows = difference::all(reader, after).map_err(failed)?;
    let rows = rows.map_err(|broken| StoreError::Broken { path, broken })?;
    drop(snapshot);
    mark::check(Some(reader.connection()), reader.folder())?;
    let rows = rows.into_iter().map(StateFault::Projection);
    let bodies = bodies.into_iter().map(StateFault::Body);
    let stored = stored.into_iter().map(StateFault::Body);
    // Missing bodies explain rows, and a row explains the files it names.
    Ok(bodies.chain(rows).chain(stored).collect())
}
