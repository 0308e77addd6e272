use std::{collections::BTreeMap, path::PathBuf};

use rusqlite::Connection;

use crate::{
    db::{migrate, reader::StoreReader},
    error::{QueryResult, StoreError},
    log::mark,
    maintenance::{bodies, bodies::BodyFault},
    projections::{difference, difference::ProjectionDifference},
};

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
    reader.query(|_| find_faults(reader, seq.cast_signed()))
}

fn find_faults(reader: &StoreReader, after: i64) -> QueryResult<Vec<StateFault>> {
    let snapshot = reader.connection().unchecked_transaction()?;
    let schema = faults(reader.connection())?;
    if !schema.is_empty() {
        // Data read through another schema proves nothing.
        return Ok(schema.into_iter().map(StateFault::Schema).collect());
    }
    let bodies = bodies::events(reader, after)?;
    let stored = bodies::stored(reader, after)?;
    let rows = difference::all(reader, after)?;
    drop(snapshot);
    mark::check(Some(reader.connection()), reader.folder())?;
    let rows = rows.into_iter().map(StateFault::Projection);
    let bodies = bodies.into_iter().map(StateFault::Body);
    let stored = stored.into_iter().map(StateFault::Body);
    // Missing bodies explain rows, and a row explains the files it names.
    Ok(bodies.chain(rows).chain(stored).collect())
}

/// A part of the database's schema differing from the migrations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaFault {
    /// The part exists, and no migration makes it.
    #[error("the schema has an unexpected {kind} `{name}`")]
    Foreign {
        /// `table`, `index`, `trigger` or `view`.
        kind: String,
        name: String,
    },
    /// A migration makes the part, and it does not exist.
    #[error("the schema is missing the {kind} `{name}`")]
    Missing {
        /// `table` or `index`.
        kind: String,
        name: String,
    },
    /// The part has another definition.
    #[error("the {kind} `{name}` of the schema differs from the migrations")]
    Different {
        /// `table` or `index`.
        kind: String,
        name: String,
    },
}

/// The parts of a schema: table and text by kind and name.
type SchemaParts = BTreeMap<(String, String), (String, Option<String>)>;

/// Compares the schema, by its text, with the one the migrations make.
pub(crate) fn faults(connection: &Connection) -> rusqlite::Result<Vec<SchemaFault>> {
    let expected = parts(&migrate::pristine()?)?;
    let found = parts(connection)?;
    let mut faults = Vec::new();
    for ((kind, name), part) in &found {
        let (kind, name) = (kind.clone(), name.clone());
        match expected.get(&(kind.clone(), name.clone())) {
            None => faults.push(SchemaFault::Foreign { kind, name }),
            Some(known) if known != part => faults.push(SchemaFault::Different { kind, name }),
            Some(_) => {}
        }
    }
    let missing = expected.keys().filter(|key| !found.contains_key(*key));
    faults
        .extend(missing.map(|(kind, name)| SchemaFault::Missing { kind: kind.clone(), name: name.clone() }));
    // A missing table takes its indices with it: it is reported first.
    faults.sort_by_key(|fault| fault.is_of("index"));
    Ok(faults)
}

impl SchemaFault {
    fn is_of(&self, wanted: &str) -> bool {
        let (Self::Foreign { kind, .. } | Self::Missing { kind, .. } | Self::Different { kind, .. }) = self;
        kind == wanted
    }
}

fn parts(connection: &Connection) -> rusqlite::Result<SchemaParts> {
    connection
        .prepare("SELECT type, name, tbl_name, sql FROM main.sqlite_schema")?
        .query_map([], |row| {
            Ok(((row.get(0)?, row.get(1)?), (row.get(2)?, row.get::<_, Option<String>>(3)?)))
        })?
        .collect()
}
