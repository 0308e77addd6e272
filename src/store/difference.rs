use std::collections::BTreeMap;
use std::fmt;

use rusqlite::types::Value;
use rusqlite::{Connection, Params};

use super::chain::run_of;
use super::fold::Fold;
use super::rebuild::{FOLDED, OF_STATE};
use super::state_event;
use super::{BrokenChain, ChainFault, Reader};

/// The most characters of a value that are shown.
const SHOWN: usize = 60;

/// A row of a projection that is not what the log makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The table.
    pub table: &'static str,
    /// The run, as far as it is known: its id, else its key.
    pub run: String,
    /// The rest of the row's key, as `step=build item=0`.
    pub row: String,
    /// What differs.
    pub column: ColumnDifference,
}

/// How a row differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnDifference {
    /// The table has it and the log does not make it.
    Extra,
    /// The log makes it and the table does not have it.
    Missing,
    /// A column has another value.
    Value {
        /// The column.
        column: String,
        /// What the table says.
        table: String,
        /// What the log says.
        log: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            table, run, row, ..
        } = self;
        write!(f, "table `{table}`, run {run}")?;
        if !row.is_empty() {
            write!(f, ", {row}")?;
        }
        match &self.column {
            ColumnDifference::Extra => write!(f, ": the log does not make this row"),
            ColumnDifference::Missing => write!(f, ": the row is gone; the log makes it"),
            ColumnDifference::Value { column, table, log } => {
                write!(f, ": `{column}` is {table}; the log says {log}")
            }
        }
    }
}

/// The rows of a table: the values by the columns of its key.
struct Rows {
    columns: Vec<String>,
    key: Vec<usize>,
    by_key: BTreeMap<Vec<String>, Vec<Value>>,
}

/// Makes the projections anew from the log, run by run, and compares them with those of the
/// database, row for row.
pub(super) fn all(reader: &Reader) -> rusqlite::Result<Result<Vec<Difference>, BrokenChain>> {
    let connection = reader.connection();
    let fold = Fold::new(connection)?;
    let mut found = Vec::new();
    for key in keys(connection)? {
        match fold.key(connection, key)? {
            Ok(()) => {}
            // That is told as what it is, and says nothing of the tables.
            Err(broken) if broken.fault == ChainFault::Bodiless => {
                fold.clear(connection)?;
                continue;
            }
            Err(broken) => return Ok(Err(broken)),
        }
        of_run(connection, key, &mut found)?;
        fold.clear(connection)?;
    }
    of_state(connection, &mut found)?;
    Ok(Ok(found))
}

/// The keys of all runs that the log or a projection knows.
fn keys(connection: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut sql = format!(
        "{} SELECT key FROM keys WHERE key IS NOT NULL UNION SELECT key FROM main.runs",
        state_event::KEYS
    );
    for table in FOLDED.iter().filter(|table| is_by_key(table)) {
        sql += &format!(" UNION SELECT run FROM main.{table}");
    }
    let mut statement = connection.prepare(&sql)?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Whether a table names the run by its key.
fn is_by_key(table: &str) -> bool {
    !matches!(table, "runs" | "consumed")
}

fn of_run(connection: &Connection, key: i64, found: &mut Vec<Difference>) -> rusqlite::Result<()> {
    let id: Option<String> = connection
        .prepare_cached("SELECT id FROM temp.runs WHERE key = ?1")?
        .query_map([key], |row| row.get(0))?
        .next()
        .transpose()?;
    let name = match &id {
        Some(id) => id.clone(),
        None => run_of(connection, key)?.map_or_else(|| key.to_string(), |run| run.to_string()),
    };
    for table in FOLDED {
        let (column, value) = match table {
            "consumed" => ("run", id.clone().map_or(Value::Null, Value::Text)),
            "runs" => ("key", Value::Integer(key)),
            _ => ("run", Value::Integer(key)),
        };
        let at = format!("WHERE {column} = ?1");
        let stored = rows(connection, "main", table, &at, [&value])?;
        let logged = rows(connection, "temp", table, &at, [&value])?;
        compare(table, &name, (&stored, &logged), found);
    }
    Ok(())
}

/// Compares what is in the events of no run: withdrawals, the uses of runs whose bodies were removed, and those
/// that were carried over.
fn of_state(connection: &Connection, found: &mut Vec<Difference>) -> rusqlite::Result<()> {
    for event in state_event::all(connection)? {
        state_event::show(connection, &event.fact)?;
    }
    for table in OF_STATE {
        let stored = rows(connection, "main", table, "", [])?;
        let logged = rows(connection, "temp", table, "", [])?;
        compare(table, "none", (&stored, &logged), found);
    }
    let at = format!(
        "WHERE run NOT LIKE 'connection:%' AND run NOT IN
             (SELECT body ->> '$.run' FROM ({} SELECT body FROM keys JOIN events
              ON run = key AND n = 0 WHERE body ->> '$.run' IS NOT NULL))",
        state_event::KEYS
    );
    let stored = rows(connection, "main", "consumed", &at, [])?;
    let logged = rows(connection, "temp", "consumed", &at, [])?;
    compare("consumed", "none that is kept", (&stored, &logged), found);
    Ok(())
}

fn rows(
    connection: &Connection,
    schema: &str,
    table: &str,
    at: &str,
    values: impl Params,
) -> rusqlite::Result<Rows> {
    let key = connection
        .prepare_cached("SELECT cid FROM pragma_table_info(?1, 'main') WHERE pk > 0 ORDER BY pk")?
        .query_map([table], |row| row.get::<_, i64>(0))?
        .map(|cid| cid.map(|cid| usize::try_from(cid).unwrap_or(0)))
        .collect::<rusqlite::Result<Vec<usize>>>()?;
    let mut statement =
        connection.prepare_cached(&format!("SELECT * FROM {schema}.{table} {at}"))?;
    let columns: Vec<String> = statement.column_names().map(Into::into).collect();
    let mut read = statement.query(values)?;
    let mut by_key = BTreeMap::new();
    while let Some(row) = read.next()? {
        let values = (0..columns.len()).map(|at| row.get(at));
        let values = values.collect::<rusqlite::Result<Vec<Value>>>()?;
        let key = key
            .iter()
            .filter_map(|at| values.get(*at).map(shown))
            .collect();
        by_key.insert(key, values);
    }
    drop(read);
    Ok(Rows {
        columns,
        key,
        by_key,
    })
}

fn compare(
    table: &'static str,
    run: &str,
    (stored, logged): (&Rows, &Rows),
    found: &mut Vec<Difference>,
) {
    let mut add = |key: &[String], column| {
        found.push(Difference {
            table,
            run: run.into(),
            row: stored.named(key),
            column,
        });
    };
    for (key, values) in &stored.by_key {
        let Some(log) = logged.by_key.get(key) else {
            add(key, ColumnDifference::Extra);
            continue;
        };
        for ((column, value), logged) in stored.columns.iter().zip(values).zip(log) {
            if value != logged {
                let (column, table, log) = (column.clone(), shown(value), shown(logged));
                add(key, ColumnDifference::Value { column, table, log });
            }
        }
    }
    for key in logged
        .by_key
        .keys()
        .filter(|key| !stored.by_key.contains_key(*key))
    {
        add(key, ColumnDifference::Missing);
    }
}

impl Rows {
    /// The key of a row in words, without the run.
    fn named(&self, key: &[String]) -> String {
        let columns = self.key.iter().filter_map(|at| self.columns.get(*at));
        let named = columns
            .zip(key)
            .filter(|(column, _)| *column != "run" && *column != "key");
        let named: Vec<String> = named
            .map(|(column, value)| format!("{column}={value}"))
            .collect();
        named.join(" ")
    }
}

/// A value in words, not longer than it can be read.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => "nothing".into(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => format!("`{text}`"),
        Value::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    if text.chars().count() <= SHOWN {
        return text;
    }
    text.chars().take(SHOWN).chain(['…']).collect()
}
