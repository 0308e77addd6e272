//! A choice of runs by what is known of them, in an order: the runs of a list that is filtered and sorted.
//!
//! The tables choose, and each chosen run is shown as its log has it.

use std::{cmp::Reverse, time::Duration};

use rusqlite::{params_from_iter, types::Value};

use crate::{
    column::{RowColumns, integer},
    db::reader::StoreReader,
    error::StoreError,
    views::view::{RunRow, RunState},
};
use wf_base::{
    keywords,
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::machine::{RunOutcome, Standing};

keywords! {
    /// The cause of runs.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum RunTrigger {
        /// Any but the check of a goal: where one is due each minute, its checks hide all others.
        #[default]
        Work = "work",
        People = "people",
        /// A goal: its checks, its repairs, its jobs.
        Goals = "goals",
        Checks = "checks",
        Any = "all",
    }
}

keywords! {
    /// The order of chosen runs.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum RunListOrder {
        #[default]
        Latest = "-started",
        Earliest = "started",
        Longest = "-duration",
        Shortest = "duration",
        Plan = "plan",
        PlanBackwards = "-plan",
    }
}

/// A choice of runs, nested ones left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunChoice {
    /// Only runs of this plan.
    pub plan: Option<PlanId>,
    /// Only runs that ended so. With neither an outcome nor `has_unended`, every run.
    pub outcomes: Vec<RunOutcome>,
    /// True if those are chosen that have not ended, too.
    pub has_unended: bool,
    /// Without these runs.
    pub without: Vec<RunId>,
    pub trigger: RunTrigger,
    /// Only runs in whose id, plan, path, reason, failed step or parameters this text stands. Letters of ASCII are equal
    /// in both cases.
    pub text: String,
    /// Only runs recorded since then.
    pub since: Option<Moment>,
    /// Only runs recorded before then.
    pub until: Option<Moment>,
    pub order: RunListOrder,
}

/// Some chosen runs.
#[derive(Debug, Default)]
pub struct ChosenRuns {
    pub rows: Vec<RunRow>,
    /// True if there are more behind them.
    pub has_more: bool,
}

/// The condition of a choice, with its values from 1 to 10.
const CHOSEN: &str = "FROM runs WHERE parent IS NULL AND (?1 IS NULL OR plan = ?1)
    AND (?2 OR outcome IN (SELECT value FROM json_each(?3)) OR (?4 AND outcome IS NULL))
    AND id NOT IN (SELECT value FROM json_each(?5))
    AND CASE ?6 WHEN 'work' THEN config ->> '$.goal' IS NOT 'look' WHEN 'people' THEN config ->> '$.goal' IS NULL
        WHEN 'goals' THEN config ->> '$.goal' IS NOT NULL WHEN 'checks' THEN config ->> '$.goal' IS 'look' ELSE 1 END
    AND (?7 IS NULL OR created >= ?7) AND (?8 IS NULL OR created < ?8)
    AND (?9 = '' OR id LIKE ?9 || '%' ESCAPE '\\' OR plan LIKE ?10 ESCAPE '\\' OR path LIKE ?10 ESCAPE '\\'
        OR reason LIKE ?10 ESCAPE '\\' OR failed_step LIKE ?10 ESCAPE '\\' OR params LIKE ?10 ESCAPE '\\')";

impl RunChoice {
    /// Returns chosen runs in their order, from an offset on. Those that have not ended took the time worked on them until now.
    pub fn read(
        &self,
        reader: &StoreReader,
        offset: usize,
        limit: usize,
        now: Moment,
    ) -> Result<ChosenRuns, StoreError> {
        reader.fold_all()?;
        let mut ids = match self.order {
            RunListOrder::Longest | RunListOrder::Shortest => {
                let ids = self.ids_by_duration(reader, now)?;
                ids.into_iter().skip(offset).take(limit.saturating_add(1)).collect()
            }
            _ => self.ids(reader, offset, limit.saturating_add(1))?,
        };
        let has_more = ids.len() > limit;
        ids.truncate(limit);
        Ok(ChosenRuns { rows: self.logged_rows(reader, &ids)?, has_more })
    }

    /// Returns the number of chosen runs.
    pub fn count(&self, reader: &StoreReader) -> Result<u64, StoreError> {
        reader.fold_all()?;
        let sql = format!("SELECT count(*) {CHOSEN}");
        let count: Option<i64> = reader.query_one(&sql, params_from_iter(self.values()), |row| row.get(0))?;
        Ok(count.unwrap_or_default().unsigned_abs())
    }

    fn ids(&self, reader: &StoreReader, offset: usize, limit: usize) -> Result<Vec<RunId>, StoreError> {
        let order = match self.order {
            RunListOrder::Earliest => "key",
            RunListOrder::Plan => "plan COLLATE NOCASE, plan, key DESC",
            RunListOrder::PlanBackwards => "plan COLLATE NOCASE DESC, plan DESC, key DESC",
            _ => "key DESC",
        };
        let sql = format!("SELECT id {CHOSEN} ORDER BY {order} LIMIT ?11 OFFSET ?12");
        let mut values = self.values();
        values.extend([Value::Integer(integer(limit)), Value::Integer(integer(offset))]);
        reader.ids(&sql, params_from_iter(values))
    }

    /// Returns all chosen runs by the time they took. Only of resumed ones, and of those that have not ended, the work is looked up.
    fn ids_by_duration(&self, reader: &StoreReader, now: Moment) -> Result<Vec<RunId>, StoreError> {
        let sql = format!(
            "SELECT id, created, ended, ended IS NULL OR (SELECT count(*) FROM run_leases WHERE run = runs.id) > 1 {CHOSEN} ORDER BY key DESC"
        );
        let found = reader.all(&sql, params_from_iter(self.values()), |row| {
            let (created, ended) = (row.moment(1)?, row.moment_if(2)?);
            Ok((row.run(0)?, ended.unwrap_or(now).since(created), row.get::<_, bool>(3)?))
        })?;
        let mut timed: Vec<(Duration, RunId)> = Vec::with_capacity(found.len());
        for (run, duration, is_looked_up) in found {
            let duration = if is_looked_up {
                let row = reader.runs().get(&run)?;
                row.duration_until(row.work_end.known(now))
            } else {
                duration
            };
            timed.push((duration, run));
        }
        if self.order == RunListOrder::Longest {
            timed.sort_by_key(|(duration, _)| Reverse(*duration));
        } else {
            timed.sort_by_key(|(duration, _)| *duration);
        }
        Ok(timed.into_iter().map(|(_, run)| run).collect())
    }

    fn values(&self) -> Vec<Value> {
        let text = self.text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        let words: Vec<&str> = self.outcomes.iter().map(|outcome| outcome.as_str()).collect();
        let list = |texts: &[&str]| Value::Text(serde_json::json!(texts).to_string());
        let instant = |at: Option<Moment>| at.map_or(Value::Null, |at| Value::Integer(at.millis()));
        let is_any = self.outcomes.is_empty() && !self.has_unended;
        vec![
            self.plan.as_ref().map_or(Value::Null, |plan| Value::Text(plan.as_str().to_owned())),
            Value::Integer(is_any.into()),
            list(&words),
            Value::Integer(self.has_unended.into()),
            list(&self.without.iter().map(RunId::as_str).collect::<Vec<_>>()),
            Value::Text(self.trigger.as_str().to_owned()),
            instant(self.since),
            instant(self.until),
            Value::Text(text.clone()),
            Value::Text(format!("%{text}%")),
        ]
    }

    /// Returns runs with the end that the log has, if that is one of the chosen ones.
    fn logged_rows(&self, reader: &StoreReader, ids: &[RunId]) -> Result<Vec<RunRow>, StoreError> {
        let mut log: Option<StoreReader> = None;
        let mut logged = Vec::with_capacity(ids.len());
        for run in ids {
            let mut row = reader.runs().get(run)?;
            if reader.projections.is_none() {
                let end = reader.events().end_of_run(run)?;
                let state = end.map_or(RunState::Running, |(outcome, _)| RunState::Ended(outcome));
                let standing = end.map_or_else(Standing::default, |(_, standing)| standing);
                if (row.state, row.standing) != (state, standing) {
                    let whole = match log.take() {
                        Some(whole) => whole,
                        None => StoreReader::from_log(reader.folder().path())?,
                    };
                    match log.insert(whole).runs().get(run) {
                        Ok(other) => row = other,
                        // Retention removed it meanwhile.
                        Err(StoreError::UnknownRun(_)) => continue,
                        Err(error) => return Err(error),
                    }
                }
            }
            if self.has(row.state) {
                logged.push(row);
            }
        }
        Ok(logged)
    }

    /// True if runs in a state are chosen.
    fn has(&self, state: RunState) -> bool {
        match state {
            _ if self.outcomes.is_empty() && !self.has_unended => true,
            RunState::Running => self.has_unended,
            RunState::Ended(outcome) => self.outcomes.contains(&outcome),
        }
    }
}
