use super::bodies::{self, BodyFault};
use super::difference::{self, Difference};
use super::schema::{self, SchemaFault};
use super::{Reader, StoreError, mark};

/// A part of the state beside the log that is not what the log says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateFault {
    /// The schema is another.
    #[error("{0}")]
    Schema(SchemaFault),
    /// A row of a projection is another.
    #[error("{0}")]
    Projection(Difference),
    /// A body is another, or gone.
    #[error("{0}")]
    Body(BodyFault),
}

/// Compares all that lies beside the log with it, as of one instant: the schema with what the
/// migrations make, the projections row for row with what the events make, every stored body with
/// its digest. The log itself must have been verified.
pub fn examine(reader: &Reader) -> Result<Vec<StateFault>, StoreError> {
    let failed = |error| reader.failed(&error);
    let snapshot = reader
        .connection()
        .unchecked_transaction()
        .map_err(failed)?;
    let schema = schema::faults(reader.connection()).map_err(failed)?;
    if !schema.is_empty() {
        // What is read through another schema says nothing.
        return Ok(schema.into_iter().map(StateFault::Schema).collect());
    }
    let bodies = bodies::events(reader).map_err(failed)?;
    let stored = bodies::stored(reader).map_err(failed)?;
    let path = reader.folder().database();
    let rows = difference::all(reader).map_err(failed)?;
    let rows = rows.map_err(|broken| StoreError::Broken { path, broken })?;
    drop(snapshot);
    mark::check(Some(reader.connection()), reader.folder())?;
    let rows = rows.into_iter().map(StateFault::Projection);
    let bodies = bodies.into_iter().map(StateFault::Body);
    let stored = stored.into_iter().map(StateFault::Body);
    // What is gone from the log explains rows, and a row explains what it names.
    Ok(bodies.chain(rows).chain(stored).collect())
}
