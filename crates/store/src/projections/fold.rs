//! The projections a reader builds for itself from the log.

use std::{cell::RefCell, collections::BTreeMap};

use rusqlite::{Connection, OptionalExtension};

use crate::{
    db::{migrate::MIGRATIONS, statements::make_shadow},
    error::QueryResult,
    log::{
        chain::{LINKED, broken_at, fault_behind},
        state_event::{GoneBodiesOnDemand, KEYS},
    },
    projections::rebuild::{FOLDED, OF_STATE, apply_event},
    query,
};
use wf_base::name::RunId;

/// Projections that shadow those of the database and are filled from the log, run by run, on
/// demand. Queries of the same connection find these: SQLite looks a name up among temporary tables
/// first.
///
/// **Invariant:** every folded event has the hash of its content and is bound to its neighbours in the log;
/// the events of a run have no gap; and none is left out but those of runs the log records as pruned.
#[derive(Debug, Default)]
pub(crate) struct ShadowProjections {
    /// The number of the last folded event, by the key of the run.
    folded_until: RefCell<BTreeMap<i64, i64>>,
}

impl ShadowProjections {
    /// Creates empty projections that shadow those of the database.
    pub(crate) fn new(connection: &Connection) -> rusqlite::Result<Self> {
        for table in FOLDED.into_iter().chain(OF_STATE) {
            make_shadow(connection, table, MIGRATIONS)?;
        }
        connection.execute_batch(
            "CREATE UNIQUE INDEX temp.runs_by_id ON runs (id);
             CREATE INDEX temp.runs_by_parent ON runs (parent)",
        )?;
        connection.flush_prepared_statement_cache();
        Ok(Self::default())
    }

    /// Folds the new first events of all runs: which runs there are, and their nesting.
    pub(crate) fn heads(&self, connection: &Connection) -> QueryResult<()> {
        let last = self.folded_until.borrow().keys().next_back().copied();
        let sql = format!(
            "{} SELECT {LINKED} FROM keys JOIN events ON run = key AND run_seq = 0 ORDER BY key",
            KEYS.replacen("FROM events", "FROM events WHERE run > ?1", 1)
        );
        self.take(connection, &sql, (last.unwrap_or(0),))
    }

    /// Folds the new events of a run, and of the runs nested in it.
    pub(crate) fn run(&self, connection: &Connection, run: &RunId) -> QueryResult<()> {
        self.heads(connection)?;
        for key in tree(connection, run)? {
            self.key(connection, key)?;
        }
        Ok(())
    }

    /// Folds the new events of all runs.
    pub(crate) fn all(&self, connection: &Connection) -> QueryResult<()> {
        self.heads(connection)?;
        let keys: Vec<i64> = self.folded_until.borrow().keys().copied().collect();
        for key in keys {
            self.key(connection, key)?;
        }
        Ok(())
    }

    /// Folds the new events of the run with a key.
    pub(crate) fn key(&self, connection: &Connection, key: i64) -> QueryResult<()> {
        let last = self.folded_until.borrow().get(&key).copied().unwrap_or(-1);
        let sql = format!("SELECT {LINKED} FROM events WHERE run = ?1 AND run_seq > ?2 ORDER BY run_seq");
        self.take(connection, &sql, (key, last))
    }

    /// Clears everything folded.
    pub(crate) fn clear(&self, connection: &Connection) -> rusqlite::Result<()> {
        self.folded_until.borrow_mut().clear();
        for table in FOLDED.into_iter().chain(OF_STATE) {
            let sql = format!("DELETE FROM temp.{table}");
            connection.prepare_cached(&sql)?.execute([])?;
        }
        Ok(())
    }

    /// Returns the number of the last folded event of a run; `None`: it has none.
    pub(crate) fn last(&self, connection: &Connection, run: &RunId) -> rusqlite::Result<Option<i64>> {
        let sql = "SELECT key FROM runs WHERE id = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let key: Option<i64> = statement.query_row([run.as_str()], |row| row.get(0)).optional()?;
        Ok(key.and_then(|key| self.folded_until.borrow().get(&key).copied()))
    }

    fn take(&self, connection: &Connection, sql: &str, values: impl rusqlite::Params) -> QueryResult<()> {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query(values)?;
        let mut gone = GoneBodiesOnDemand::default();
        let mut last: Option<(i64, i64)> = None;
        while let Some(row) = rows.next()? {
            let (run, n): (i64, i64) = (row.get(1)?, row.get(2)?);
            let before = match last {
                Some((same, before)) if same == run => before,
                _ => self.folded_until.borrow().get(&run).copied().unwrap_or(-1),
            };
            last = Some((run, n));
            if let Some(fault) = fault_behind(connection, row, before, &mut gone)? {
                return Err(broken_at(connection, row, fault)?.into());
            }
            if row.get_ref(7)?.as_str_or_null()?.is_none() {
                continue;
            }
            apply_event(connection, row)?;
            self.folded_until.borrow_mut().insert(run, n);
        }
        Ok(())
    }
}

/// Returns the keys of a run and of all nested in it, according to the first events.
pub(crate) fn tree(connection: &Connection, run: &RunId) -> rusqlite::Result<Vec<i64>> {
    let sql = "WITH RECURSIVE below (id) AS
                   (SELECT ?1 UNION SELECT runs.id FROM runs JOIN below ON runs.parent = below.id)
               SELECT key FROM runs JOIN below ON runs.id = below.id";
    query::all(connection, sql, [run.as_str()], |row| row.get(0))
}
