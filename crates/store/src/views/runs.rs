//! The runs: all of them, those beside one, and the one a text names.

use std::cmp::Reverse;

use rusqlite::Connection;
use serde_json::Value;

use crate::{
    column::{JsonColumn, MomentColumn, RowColumns, integer},
    db::reader::StoreReader,
    error::StoreError,
    events::run_end::RunEndLog,
    log::state_event::{PrunedRun, RunSummary},
    query,
    views::{
        rows,
        summary::pruned_row,
        view::{PlanOutcomeCount, RunFilter, RunRow, RunState},
        waits::with_wait,
    },
};
use wf_base::{
    name::{AmbiguousRunError, PlanId, RunId, SessionName},
    time::Moment,
};
use wf_core::{machine::Standing, undo::UndoRun};

/// An error in finding a run by the text naming it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// No run's id begins with the prefix.
    #[error("run not found: `{prefix}`")]
    Unknown {
        prefix: String,
        /// The latest runs, as suggestions.
        latest: Vec<RunId>,
    },
    /// The run was pruned.
    #[error("run {} was pruned: {} {} on {}; only its summary is kept", run.short(), summary.plan, summary.outcome.as_str(), summary.ended.to_second())]
    Pruned {
        run: RunId,
        /// The rest of it.
        summary: Box<RunSummary>,
    },
    /// No run was started yet.
    #[error("no runs yet")]
    NoRuns,
    /// The ids of several runs begin with the prefix.
    #[error(transparent)]
    Ambiguous(#[from] AmbiguousRunError),
    /// The state cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The number of runs listed when a run is not found, or is ambiguous.
const CANDIDATES: i64 = 10;

/// The table `runs`, and the summaries of runs pruned.
#[derive(Clone, Copy, Debug)]
pub struct RunTable<S>(pub(crate) S);

impl RunTable<&StoreReader> {
    /// Returns the latest runs, newest first.
    pub fn list(self, limit: usize, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError> {
        self.0.fold_all()?;
        let (any_state, outcome) = match filter.state {
            None => (true, None),
            Some(RunState::Running) => (false, None),
            Some(RunState::Ended(outcome)) => (false, Some(outcome.as_str())),
        };
        let sql = format!(
            "SELECT {} FROM runs
             WHERE (?1 OR outcome IS ?2) AND (?3 IS NULL OR plan = ?3) AND (?4 OR parent IS NULL)
                 AND (?5 IS NULL OR session = ?5) AND (NOT ?7 OR config ->> '$.goal' IS NOT 'look')
                 AND (?8 IS NULL OR created >= ?8)
                 AND (?9 IS NULL OR key < (SELECT key FROM runs WHERE id = ?9))
             ORDER BY key DESC LIMIT ?6",
            rows::RUN
        );
        let plan = filter.plan.as_ref().map(PlanId::as_str);
        let session = filter.session.as_ref().map(SessionName::as_str);
        let since = filter.since.map(MomentColumn);
        let before = filter.before.as_ref().map(RunId::as_str);
        let (limit, nested) = (integer(limit), filter.nested);
        let values = (any_state, outcome, plan, nested, session, limit, filter.no_checks, since, before);
        let mut run_rows: Vec<RunRow> = self.0.all(&sql, values, rows::run)?;
        if self.follow_log(&mut run_rows)? {
            run_rows.retain(|row| filter.state.is_none_or(|state| row.state == state));
        }
        run_rows.into_iter().map(|row| self.complete(row)).collect()
    }

    /// Returns the latest runs of each plan that are not nested, newest first: one pass over all runs.
    pub fn latest_by_plan(self, limit: usize) -> Result<Vec<RunRow>, StoreError> {
        self.0.fold_all()?;
        let sql = format!(
            "SELECT {} FROM runs WHERE key IN (
                 SELECT key FROM (
                     SELECT key, row_number() OVER (PARTITION BY plan ORDER BY key DESC) AS place
                     FROM runs WHERE parent IS NULL)
                 WHERE place <= ?1)
             ORDER BY key DESC",
            rows::RUN
        );
        let mut run_rows: Vec<RunRow> = self.0.all(&sql, [integer(limit)], rows::run)?;
        self.follow_log(&mut run_rows)?;
        run_rows.into_iter().map(|row| self.complete(row)).collect()
    }

    /// Returns the number of runs of each plan that ended since an instant, by their outcome; those nested apart.
    pub fn outcomes_by_plan(self, since: Moment) -> Result<Vec<PlanOutcomeCount>, StoreError> {
        self.0.fold_all()?;
        let sql = "SELECT plan, outcome, count(*) FROM runs
                   WHERE ended >= ?1 AND parent IS NULL GROUP BY plan, outcome ORDER BY plan, outcome";
        self.0.all(sql, [MomentColumn(since)], |row| {
            let count: i64 = row.get(2)?;
            Ok(PlanOutcomeCount { plan: row.get(0)?, outcome: row.word(1)?, count: count.unsigned_abs() })
        })
    }

    /// Returns the latest runs, nested ones too, in whose id, plan, reason, failed step or parameters a text stands, newest
    /// first. Letters of ASCII are equal in both cases.
    pub fn search(self, text: &str, limit: usize) -> Result<Vec<RunRow>, StoreError> {
        self.0.fold_all()?;
        let sql = format!(
            "SELECT {} FROM runs
             WHERE id LIKE ?1 || '%' ESCAPE '\\' OR plan LIKE ?2 ESCAPE '\\' OR reason LIKE ?2 ESCAPE '\\'
                 OR failed_step LIKE ?2 ESCAPE '\\' OR params LIKE ?2 ESCAPE '\\'
             ORDER BY key DESC LIMIT ?3",
            rows::RUN
        );
        let text = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        let run_rows: Vec<RunRow> =
            self.0.all(&sql, (&text, format!("%{text}%"), integer(limit)), rows::run)?;
        run_rows.into_iter().map(|row| self.complete(row)).collect()
    }

    pub fn get(self, run: &RunId) -> Result<RunRow, StoreError> {
        self.0.fold(run)?;
        let sql = format!("SELECT {} FROM runs WHERE id = ?1", rows::RUN);
        let row = self.0.query_one(&sql, [run.as_str()], rows::run)?;
        self.complete(row.ok_or_else(|| StoreError::UnknownRun(run.clone()))?)
    }

    /// Adds to a row the time worked on it, and whether it waits for people.
    fn complete(self, row: RunRow) -> Result<RunRow, StoreError> {
        with_wait(self.0, self.with_work(row)?)
    }

    /// Returns the configuration a run was recorded with.
    pub fn config(self, run: &RunId) -> Result<Value, StoreError> {
        self.0.fold(run)?;
        let sql = "SELECT config FROM runs WHERE id = ?1";
        self.0
            .query_one(sql, [run.as_str()], |row| row.get::<_, JsonColumn<_>>(0))?
            .map(|config| config.0)
            .ok_or_else(|| StoreError::UnknownRun(run.clone()))
    }

    /// Returns the runs nested in a run, with the attempt each is nested in.
    pub fn children(self, run: &RunId) -> Result<Vec<(RunId, String)>, StoreError> {
        self.0.fold(run)?;
        self.0.all(
            "SELECT id, parent_attempt FROM runs WHERE parent = ?1 ORDER BY key",
            [run.as_str()],
            |row| Ok((row.run(0)?, row.get(1)?)),
        )
    }

    /// Returns the runs that retry a run, in the order of their starts.
    pub fn repeats(self, run: &RunId) -> Result<Vec<RunId>, StoreError> {
        self.0.ids("SELECT id FROM runs WHERE retry_of = ?1 ORDER BY key", [run.as_str()])
    }

    /// Returns the runs undoing a run, in the order of their starts.
    pub fn undos(self, run: &RunId) -> Result<Vec<UndoRun>, StoreError> {
        let known = || self.0.query(|connection| undos(connection, run.as_str()));
        for undo in known()? {
            self.0.fold(&undo.run)?;
        }
        known()
    }

    /// Returns the run of the same plan recorded before a run, nested if that is; `None` if it is the first.
    pub fn before(self, run: &RunId) -> Result<Option<RunId>, StoreError> {
        let sql = "SELECT earlier.id FROM runs JOIN runs AS earlier
                ON earlier.plan = runs.plan AND earlier.key < runs.key
                    AND (earlier.parent IS NULL) = (runs.parent IS NULL)
             WHERE runs.id = ?1 ORDER BY earlier.key DESC LIMIT 1";
        Ok(self.0.ids(sql, [run.as_str()])?.into_iter().next())
    }

    /// Returns the run whose id begins with a prefix; nested runs too.
    pub fn find(self, prefix: &str) -> Result<RunId, FindError> {
        let unknown = |latest| FindError::Unknown { prefix: prefix.into(), latest };
        let hex = prefix.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let mut found = Vec::new();
        if hex && !prefix.is_empty() {
            // "g" sorts after every hexadecimal digit.
            found = self.0.ids(
                "SELECT id FROM runs WHERE id >= ?1 AND id < ?1 || 'g' LIMIT ?2",
                (prefix, CANDIDATES),
            )?;
        }
        match found.len() {
            0 => Err(match self.find_pruned(prefix)? {
                Some((run, summary)) => FindError::Pruned { run, summary: Box::new(summary) },
                None => unknown(self.latest()?),
            }),
            1 => Ok(found.remove(0)),
            _ => Err(FindError::Ambiguous(AmbiguousRunError { prefix: prefix.into(), among: found })),
        }
    }

    /// Returns the latest run not nested. What a slot of a goal began, a check or a repair, is meant only where there is no
    /// other run: with a goal due each minute, it would hide the runs of people.
    pub fn last(self) -> Result<RunId, FindError> {
        let sql = "SELECT id FROM runs WHERE parent IS NULL
                       AND NOT (ifnull(config ->> '$.goal', '') IN ('look', 'repair') AND ifnull(params ->> '$.slot', '') <> '')
                   ORDER BY key DESC LIMIT 1";
        match self.0.ids(sql, ())?.into_iter().next() {
            Some(run) => Ok(run),
            None => self.latest()?.into_iter().next().ok_or(FindError::NoRuns),
        }
    }

    fn latest(self) -> Result<Vec<RunId>, StoreError> {
        self.0.ids("SELECT id FROM runs WHERE parent IS NULL ORDER BY key DESC LIMIT ?1", [CANDIDATES])
    }

    /// Returns the summaries of pruned runs, newest first.
    pub fn pruned(self, limit: usize, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError> {
        // Of those with the same time, the one that was pruned last is the newest.
        let runs =
            self.pruned_runs()?.into_iter().rev().filter_map(|run| Some(pruned_row(run.id, run.summary?)));
        let is_meant = |run: &RunRow| {
            filter.state.is_none_or(|state| run.state == state)
                && filter.plan.as_ref().is_none_or(|plan| run.plan == plan.as_str())
        };
        let mut run_rows: Vec<RunRow> = runs.filter(is_meant).collect();
        run_rows.sort_by_key(|run| Reverse(run.created));
        run_rows.truncate(limit);
        Ok(run_rows)
    }

    /// Replaces rows whose end is not the one the log has. Returns true if there were any.
    fn follow_log(self, run_rows: &mut [RunRow]) -> Result<bool, StoreError> {
        let mut log = None;
        for row in run_rows.iter_mut().filter(|_| self.0.projections.is_none()) {
            let (state, standing) = match self.0.events().end_of_run(&row.id)? {
                Some((outcome, standing)) => (RunState::Ended(outcome), standing),
                None => (RunState::Running, Standing::default()),
            };
            if (row.state, row.standing) != (state, standing) {
                let reader = match log.take() {
                    Some(reader) => reader,
                    None => StoreReader::from_log(self.0.folder().path())?,
                };
                match log.insert(reader).runs().get(&row.id) {
                    Ok(logged) => *row = logged,
                    // Retention removed it meanwhile.
                    Err(StoreError::UnknownRun(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(log.is_some())
    }

    /// True if retention has removed a run.
    pub fn is_pruned(self, run: &RunId) -> Result<bool, StoreError> {
        Ok(self.pruned_runs()?.iter().any(|pruned| pruned.id == *run))
    }

    /// Returns the pruned run whose id begins with a prefix, with its summary; `None`: there is none, or more than one.
    fn find_pruned(self, prefix: &str) -> Result<Option<(RunId, RunSummary)>, StoreError> {
        let mut found = self.pruned_runs()?;
        found.retain(|run| run.id.as_str().starts_with(prefix));
        let one = found.pop().filter(|_| found.is_empty());
        Ok(one.and_then(|run| Some((run.id, run.summary?))))
    }

    fn pruned_runs(self) -> Result<Vec<PrunedRun>, StoreError> {
        self.0.query(|connection| RunEndLog(connection).pruned())
    }
}

/// Returns the runs undoing a run, in the order of their starts.
pub(crate) fn undos(connection: &Connection, undone: &str) -> rusqlite::Result<Vec<UndoRun>> {
    let sql = "SELECT id, outcome FROM runs WHERE config ->> '$.undo_of' = ?1 ORDER BY key";
    query::all(connection, sql, [undone], |row| Ok(UndoRun { run: row.run(0)?, outcome: row.word_if(1)? }))
}
