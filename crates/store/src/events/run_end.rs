//! The ends of runs by the log, for those without projections made from it.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, Params, Row};

use crate::{
    column::JsonColumn,
    error::QueryResult,
    log::{
        chain::{LINKED, NewRunRecord, broken_at, fault},
        state_event,
        state_event::{KEYS, PrunedRun, StateEvent},
    },
    query,
};
use wf_base::{name::RunId, time::Moment};
use wf_core::machine::{Event, EventKind};

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// It has not ended.
    Open,
    /// Its last event is its end, at this time.
    Ended(Moment),
    /// It was pruned, as only ended runs are.
    Pruned,
}

/// True if all these runs have ended. A run that is not in the log has not ended.
pub(crate) fn all_ended(connection: &Connection, runs: BTreeSet<RunId>) -> QueryResult<bool> {
    let count = runs.len();
    let ends = RunEndLog(connection).ends(runs)?;
    Ok(ends.len() == count && !ends.values().any(|end| *end == RunEnd::Open))
}

/// The log, as it is read for the ends of runs.
pub(crate) struct RunEndLog<'a>(pub(crate) &'a Connection);

impl RunEndLog<'_> {
    /// Returns the ends of runs, without those that are not in the log.
    pub(crate) fn ends(&self, runs: BTreeSet<RunId>) -> QueryResult<BTreeMap<RunId, RunEnd>> {
        let (mut ends, mut sought) = (BTreeMap::new(), BTreeSet::new());
        for run in runs {
            match self.key_by_table(&run)? {
                Some(key) => drop(ends.insert(run, self.end(key)?)),
                None => drop(sought.insert(run)),
            }
        }
        if !sought.is_empty() {
            for run in self.pruned()? {
                if sought.remove(&run.id) {
                    ends.insert(run.id, RunEnd::Pruned);
                }
            }
        }
        if !sought.is_empty() {
            for (run, key) in self.keys(&sought)? {
                ends.insert(run, self.end(key)?);
            }
        }
        Ok(ends)
    }

    /// Returns the key of a run. The table of runs says where to look; what is there must be that run.
    fn key_by_table(&self, run: &RunId) -> QueryResult<Option<i64>> {
        let sql = "SELECT key FROM runs WHERE id = ?1";
        let Some(key): Option<i64> = query::first(self.0, sql, [run.as_str()], |row| row.get(0))? else {
            return Ok(None);
        };
        let sql = format!("SELECT {LINKED} FROM events WHERE run = ?1 AND run_seq = 0");
        let found = self.read(&sql, [key], |row| Ok(run_at(row).filter(|found| found == run)))?;
        Ok((!found.is_empty()).then_some(key))
    }

    /// Returns the keys of runs, from the first events of all.
    fn keys(&self, sought: &BTreeSet<RunId>) -> QueryResult<Vec<(RunId, i64)>> {
        let sql = format!("{KEYS} SELECT {LINKED} FROM keys JOIN events ON run = key AND run_seq = 0");
        self.read(&sql, [], |row| {
            let run = run_at(row).filter(|run| sought.contains(run));
            run.map(|run| Ok((run, row.get(1)?))).transpose()
        })
    }

    /// Returns the runs pruned, in the order in which they were.
    pub(crate) fn pruned(&self) -> QueryResult<Vec<PrunedRun>> {
        let events = self.read(&state_event::query(LINKED), [], |row| {
            let JsonColumn(event): JsonColumn<StateEvent> = row.get(7)?;
            Ok(Some(event))
        })?;
        Ok(events.iter().flat_map(|event| event.fact.pruned()).cloned().collect())
    }

    /// Returns the end of the run with a key, by its last event.
    fn end(&self, key: i64) -> QueryResult<RunEnd> {
        let sql = format!("SELECT {LINKED} FROM events WHERE run = ?1 ORDER BY run_seq DESC LIMIT 1");
        let ends = self.read(&sql, [key], |row| {
            let last: Option<JsonColumn<Event>> = row.get(7).ok();
            let last = last.map(|last| last.0).filter(|last| matches!(last.fact, EventKind::RunEnded { .. }));
            Ok(last.map(|last| RunEnd::Ended(last.at)))
        })?;
        Ok(ends.first().copied().unwrap_or(RunEnd::Open))
    }

    /// Reads events, each of which must be as it was written.
    pub(crate) fn read<T>(
        &self,
        sql: &str,
        values: impl Params,
        mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<Option<T>>,
    ) -> QueryResult<Vec<T>> {
        let mut statement = self.0.prepare_cached(sql)?;
        let mut rows = statement.query(values)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            if let Some(fault) = fault(row)? {
                return Err(broken_at(self.0, row, fault)?.into());
            }
            found.extend(take(row)?);
        }
        Ok(found)
    }
}

/// Returns the run a first event records.
fn run_at(row: &Row<'_>) -> Option<RunId> {
    let recorded: JsonColumn<NewRunRecord> = row.get(7).ok()?;
    Some(recorded.0.run)
}
