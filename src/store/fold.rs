//! Projections of a reader's own, made from the log.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::chain::{COLUMNS, intact, run_of};
use super::migrate::statement_of;
use super::rebuild::{FOLDED, OF_STATE, show};
use super::state_event::KEYS;
use super::{BrokenChain, ChainFault, uses};
use crate::name::RunId;

/// Projections that lie over those of the database and are filled from the log, run by run, as
/// they are asked for. Queries of the same connection find these: SQLite looks a name up among
/// temporary tables first.
///
/// **Invariant:** every event that is folded has the hash that its content gives, and none is left
/// out but those of runs that the log says were pruned.
#[derive(Debug, Default)]
pub(super) struct Fold {
    /// The number of the last event that was folded, by the key of the run.
    reached: RefCell<BTreeMap<i64, i64>>,
}

/// An event that is not what was written, or a failure to read it.
pub(super) type Folded<T> = rusqlite::Result<Result<T, BrokenChain>>;

impl Fold {
    /// Lays empty projections over those of the database.
    pub(super) fn new(connection: &Connection) -> rusqlite::Result<Self> {
        for table in FOLDED.into_iter().chain(OF_STATE) {
            let made = statement_of(table).replacen("CREATE TABLE", "CREATE TEMP TABLE", 1);
            // Texts stay in the database, and no key refers from one to the other.
            let made = made.replace(" REFERENCES texts (digest)", "");
            connection.execute_batch(&made)?;
        }
        connection.execute_batch(
            "CREATE UNIQUE INDEX temp.runs_by_id ON runs (id);
             CREATE INDEX temp.runs_by_parent ON runs (parent)",
        )?;
        connection.flush_prepared_statement_cache();
        Ok(Self::default())
    }

    /// Folds the first events of all runs that came since: which runs there are, and what they are
    /// nested in.
    pub(super) fn heads(&self, connection: &Connection) -> Folded<()> {
        let last = self.reached.borrow().keys().next_back().copied();
        let sql = format!(
            "{} SELECT {COLUMNS} FROM keys JOIN events ON run = key AND n = 0 ORDER BY key",
            KEYS.replacen("FROM events", "FROM events WHERE run > ?1", 1)
        );
        self.take(connection, &sql, (last.unwrap_or(0),))
    }

    /// Folds what came of a run since, and of the runs that are nested in it.
    pub(super) fn run(&self, connection: &Connection, run: &RunId) -> Folded<()> {
        if let Err(broken) = self.heads(connection)? {
            return Ok(Err(broken));
        }
        for key in tree(connection, run)? {
            if let Err(broken) = self.key(connection, key)? {
                return Ok(Err(broken));
            }
        }
        Ok(Ok(()))
    }

    /// Folds what came of all runs since.
    pub(super) fn all(&self, connection: &Connection) -> Folded<()> {
        if let Err(broken) = self.heads(connection)? {
            return Ok(Err(broken));
        }
        let keys: Vec<i64> = self.reached.borrow().keys().copied().collect();
        for key in keys {
            if let Err(broken) = self.key(connection, key)? {
                return Ok(Err(broken));
            }
        }
        Ok(Ok(()))
    }

    /// Folds what came since of the run with a key.
    pub(super) fn key(&self, connection: &Connection, key: i64) -> Folded<()> {
        let last = self.reached.borrow().get(&key).copied().unwrap_or(-1);
        let sql = format!("SELECT {COLUMNS} FROM events WHERE run = ?1 AND n > ?2 ORDER BY n");
        self.take(connection, &sql, (key, last))
    }

    /// Forgets what was folded.
    pub(super) fn clear(&self, connection: &Connection) -> rusqlite::Result<()> {
        self.reached.borrow_mut().clear();
        for table in FOLDED.into_iter().chain(OF_STATE) {
            let sql = format!("DELETE FROM temp.{table}");
            connection.prepare_cached(&sql)?.execute([])?;
        }
        Ok(())
    }

    fn take(
        &self,
        connection: &Connection,
        sql: &str,
        values: impl rusqlite::Params,
    ) -> Folded<()> {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query(values)?;
        let mut pruned = Pruned::default();
        while let Some(row) = rows.next()? {
            let (run, n): (i64, i64) = (row.get(1)?, row.get(2)?);
            let bodiless = row.get_ref(7)?.as_str_or_null()?.is_none();
            let fault = if !intact(row)? {
                Some(ChainFault::Changed)
            } else if bodiless && !pruned.of(connection)?.contains(&run) {
                Some(ChainFault::Bodiless)
            } else {
                None
            };
            if let Some(fault) = fault {
                return Ok(Err(BrokenChain {
                    seq: row.get::<_, i64>(0)?.unsigned_abs(),
                    run: run_of(connection, run)?,
                    fault,
                }));
            }
            if bodiless {
                continue;
            }
            show(connection, row)?;
            self.reached.borrow_mut().insert(run, n);
        }
        Ok(Ok(()))
    }
}

/// The keys of a run and of all that are nested in it, as the first events tell.
fn tree(connection: &Connection, run: &RunId) -> rusqlite::Result<Vec<i64>> {
    connection
        .prepare_cached(
            "WITH RECURSIVE below (id) AS
                 (SELECT ?1 UNION SELECT runs.id FROM runs JOIN below ON runs.parent = below.id)
             SELECT key FROM runs JOIN below ON runs.id = below.id",
        )?
        .query_map([run.as_str()], |row| row.get(0))?
        .collect()
}

/// The keys of the runs that the log says were pruned, read when they are first asked for.
#[derive(Default)]
struct Pruned(Option<BTreeSet<i64>>);

impl Pruned {
    fn of(&mut self, connection: &Connection) -> rusqlite::Result<&BTreeSet<i64>> {
        let known = match self.0.take() {
            Some(known) => known,
            None => uses::pruned(connection)?,
        };
        Ok(self.0.insert(known))
    }
}
