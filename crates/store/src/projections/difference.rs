use std::{collections::BTreeMap, fmt};

use rusqlite::{Connection, Params, types::Value};

use crate::{
    db::reader::StoreReader,
    error::{QueryError, QueryResult},
    log::{
        chain::{ChainFault, run_of},
        state_event,
    },
    projections::{
        cache,
        fold::ShadowProjections,
        rebuild::{FOLDED, OF_STATE},
        row_log::{self, RECORDED_TABLES, RecordedTable},
    },
};

/// The maximum number of characters shown of a value.
const SHOWN: usize = 60;

/// A row of a projection differing from what the log yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectionDifference {
    pub table: &'static str,
    /// The run: its id, or its key if the id is unknown; empty: the table is about no run.
    pub run: String,
    /// The rest of the row's key, as `step=build item=0`.
    pub row: String,
    pub column: ColumnDifference,
}

/// The kind of difference of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnDifference {
    /// The table has a row the log does not yield.
    Extra,
    /// The log yields a row the table does not have.
    Missing,
    /// A column has another value.
    Value { column: String, table: String, log: String },
}

impl fmt::Display for ProjectionDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, run, row, .. } = self;
        write!(f, "table `{table}`")?;
        if !run.is_empty() {
            write!(f, ", run {run}")?;
        }
        if !row.is_empty() {
            write!(f, ", {row}")?;
        }
        match &self.column {
            ColumnDifference::Extra => write!(f, ": row not derivable from the log"),
            ColumnDifference::Missing => write!(f, ": row missing, but derivable from the log"),
            ColumnDifference::Value { column, table, log } => {
                write!(f, ": `{column}` is {table}, expected {log} from the log")
            }
        }
    }
}

/// The rows of a table: the values by the columns of its key.
struct TableRows {
    columns: Vec<String>,
    key: Vec<usize>,
    by_key: BTreeMap<Vec<String>, Vec<Value>>,
}

/// Rebuilds the projections from the log, run by run, and compares them with those of the database, row by
/// row: those of runs with events behind one, by its number, and those of no run.
pub(crate) fn all(reader: &StoreReader, after: i64) -> QueryResult<Vec<ProjectionDifference>> {
    let connection = reader.connection();
    let fold = ShadowProjections::new(connection)?;
    let mut found = Vec::new();
    for key in keys(connection, after)? {
        match fold.key(connection, key) {
            // A missing body is reported as such, and says nothing about the tables.
            Err(QueryError::Broken(broken)) if broken.fault == ChainFault::Bodiless => {}
            folded => {
                folded?;
                of_run(connection, key, &mut found)?;
            }
        }
        fold.clear(connection)?;
    }
    of_state(connection, &mut found)?;
    for key in cache::unrecorded(connection)? {
        let row = format!("key=`{key}`");
        found.push(ProjectionDifference {
            table: "cache",
            run: String::new(),
            row,
            column: ColumnDifference::Extra,
        });
    }
    match of_rows(connection, &mut found) {
        Err(QueryError::Broken(broken)) if broken.fault == ChainFault::Bodiless => {}
        compared => compared?,
    }
    Ok(found)
}

/// Compares the recorded tables.
fn of_rows(connection: &Connection, differences: &mut Vec<ProjectionDifference>) -> QueryResult<()> {
    row_log::fold(connection)?;
    for RecordedTable { name, .. } in RECORDED_TABLES {
        let stored = rows(connection, "main", name, "", [])?;
        let logged = rows(connection, "temp", name, "", [])?;
        compare(name, "", &stored, &logged, differences);
    }
    Ok(())
}

/// Returns the keys of the runs known to the log or a projection that have events behind one. The key of a run is the number
/// of its first event.
fn keys(connection: &Connection, after: i64) -> rusqlite::Result<Vec<i64>> {
    let logged = match after {
        0 => format!("{} SELECT key FROM keys WHERE key > ?1", state_event::KEYS),
        _ => "SELECT run FROM events WHERE seq > ?1".to_owned(),
    };
    let mut sql = format!("{logged} UNION SELECT key FROM main.runs WHERE key > ?1");
    for table in FOLDED.iter().filter(|table| is_by_key(table)) {
        sql += &format!(" UNION SELECT run FROM main.{table} WHERE run > ?1");
    }
    let mut statement = connection.prepare(&sql)?;
    // A row may have any key, whoever wrote it.
    let after = if after == 0 { i64::MIN } else { after };
    statement.query_map([after], |row| row.get(0))?.collect()
}

/// True if a table names the run by its key.
fn is_by_key(table: &str) -> bool {
    !matches!(table, "runs" | "approval_uses")
}

/// Compares the rows of the run with a key, which was folded.
pub(crate) fn of_run(
    connection: &Connection,
    key: i64,
    differences: &mut Vec<ProjectionDifference>,
) -> rusqlite::Result<()> {
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
            "approval_uses" => ("run", id.clone().map_or(Value::Null, Value::Text)),
            "runs" => ("key", Value::Integer(key)),
            _ => ("run", Value::Integer(key)),
        };
        let at = format!("WHERE {column} = ?1");
        let stored = rows(connection, "main", table, &at, [&value])?;
        let logged = rows(connection, "temp", table, &at, [&value])?;
        compare(table, &name, &stored, &logged, differences);
    }
    Ok(())
}

/// Compares the rows of events belonging to no run: withdrawals, the uses of runs whose bodies were removed,
/// those carried over, and those of connections.
fn of_state(connection: &Connection, differences: &mut Vec<ProjectionDifference>) -> rusqlite::Result<()> {
    for event in state_event::all(connection)? {
        state_event::show(connection, &event.fact)?;
    }
    for table in OF_STATE {
        let stored = rows(connection, "main", table, "", [])?;
        let logged = rows(connection, "temp", table, "", [])?;
        compare(table, "none", &stored, &logged, differences);
    }
    let at = format!(
        "WHERE run NOT IN
             (SELECT body ->> '$.run' FROM ({} SELECT body FROM keys JOIN events
              ON run = key AND run_seq = 0 AND kind IS NOT 'connection_approved'
              WHERE body ->> '$.run' IS NOT NULL))",
        state_event::KEYS
    );
    let stored = rows(connection, "main", "approval_uses", &at, [])?;
    let logged = rows(connection, "temp", "approval_uses", &at, [])?;
    compare("approval_uses", "none that is kept", &stored, &logged, differences);
    Ok(())
}

fn rows(
    connection: &Connection,
    schema: &str,
    table: &str,
    at: &str,
    values: impl Params,
) -> rusqlite::Result<TableRows> {
    let key = connection
        .prepare_cached("SELECT cid FROM pragma_table_info(?1, 'main') WHERE pk > 0 ORDER BY pk")?
        .query_map([table], |row| row.get::<_, i64>(0))?
        .map(|cid| cid.map(|cid| usize::try_from(cid).unwrap_or(0)))
        .collect::<rusqlite::Result<Vec<usize>>>()?;
    let mut statement = connection.prepare_cached(&format!("SELECT * FROM {schema}.{table} {at}"))?;
    let columns: Vec<String> = statement.column_names().map(Into::into).collect();
    let mut read = statement.query(values)?;
    let mut by_key = BTreeMap::new();
    while let Some(row) = read.next()? {
        let values = (0..columns.len()).map(|at| row.get(at));
        let values = values.collect::<rusqlite::Result<Vec<Value>>>()?;
        let key = key.iter().filter_map(|at| values.get(*at).map(display_value)).collect();
        by_key.insert(key, values);
    }
    drop(read);
    Ok(TableRows { columns, key, by_key })
}

fn compare(
    table: &'static str,
    run: &str,
    stored_rows: &TableRows,
    log_rows: &TableRows,
    differences: &mut Vec<ProjectionDifference>,
) {
    let mut add = |key: &[String], column| {
        let row = stored_rows.named(key, run.is_empty());
        differences.push(ProjectionDifference { table, run: run.into(), row, column });
    };
    for (key, values) in &stored_rows.by_key {
        let Some(log) = log_rows.by_key.get(key) else {
            add(key, ColumnDifference::Extra);
            continue;
        };
        for ((column, value), logged) in stored_rows.columns.iter().zip(values).zip(log) {
            if value != logged {
                let (column, table, log) = (column.clone(), display_value(value), display_value(logged));
                add(key, ColumnDifference::Value { column, table, log });
            }
        }
    }
    for key in log_rows.by_key.keys().filter(|key| !stored_rows.by_key.contains_key(*key)) {
        add(key, ColumnDifference::Missing);
    }
}

impl TableRows {
    /// Formats the key of a row; `whole`: with the run.
    fn named(&self, key: &[String], whole: bool) -> String {
        let columns = self.key.iter().filter_map(|at| self.columns.get(*at));
        let named = columns.zip(key).filter(|(column, _)| whole || (*column != "run" && *column != "key"));
        let named: Vec<String> = named.map(|(column, value)| format!("{column}={value}")).collect();
        named.join(" ")
    }
}

/// Formats a value, cut to a readable length.
fn display_value(value: &Value) -> String {
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
