use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::db::migrate;

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
