//! The reconciliations of goals.

use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::Value;

use crate::{
    column::{MomentColumn, RowColumns, integer},
    db::{reader::StoreReader, store::Store, ticket::WriteTicket},
    error::{QueryResult, StoreError},
    events::run_end::{self, RunEnd, RunEndLog},
    query,
    tables::{goals, outbox::insert_notification},
};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::goal::{GoalOutcome, ReconciliationCause, ReconciliationHealth};

/// A reconciliation of a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReconciliationRow {
    /// Its first run, which only checks.
    pub run: RunId,
    pub goal: PlanId,
    /// The scheduled time it was started for.
    pub slot: Option<Moment>,
    /// The cause it was started for.
    pub cause: ReconciliationCause,
    pub started_at: Moment,
    pub repair: Option<RunId>,
    /// The time of its end, the health of the goal, and the reason.
    pub ended: Option<(Moment, ReconciliationHealth, String)>,
}

impl ReconciliationRow {
    /// Returns the repair, or else the check run.
    fn last_run(&self) -> &RunId {
        self.repair.as_ref().unwrap_or(&self.run)
    }
}

/// The end of a reconciliation, and its immediate consequences.
#[derive(Clone, Debug, PartialEq)]
pub struct ReconciliationEnd {
    /// Its first run.
    pub run: RunId,
    pub outcome: GoalOutcome,
    pub at: Moment,
    /// The reason why the goal is paused now, if it is.
    pub pause: Option<String>,
    /// The notifications to send.
    pub notices: Vec<Value>,
}

/// The table `reconciliations`, and the feedback on their repairs.
#[derive(Clone, Copy, Debug)]
pub struct ReconciliationTable<S>(pub(crate) S);

impl ReconciliationTable<&Store> {
    /// Records the end of a reconciliation, once: ending it again changes nothing and returns false.
    /// Only one that waited for the user may end anew. Refused with [`StoreError::NotOpen`] while its repair
    /// runs, unless it ends as waiting or cancelled.
    pub fn end(self, end: ReconciliationEnd) -> WriteTicket<bool> {
        self.0.row_job(end.at, move |writing| {
            check_repair_ended(writing.connection, &end)?;
            Ok(record_end(writing.connection, &end)?)
        })
    }
}

impl ReconciliationTable<&StoreReader> {
    /// Returns a reconciliation by its first run.
    pub fn find(self, run: &RunId) -> Result<Option<ReconciliationRow>, StoreError> {
        self.0.folded_first("SELECT * FROM reconciliations WHERE run = ?1", [run.as_str()], cycle)
    }

    /// Returns the latest ended reconciliations of a goal, newest first.
    pub fn latest(self, goal: &PlanId, limit: usize) -> Result<Vec<ReconciliationRow>, StoreError> {
        let sql = "SELECT * FROM reconciliations WHERE goal = ?1 ORDER BY started_at DESC, run DESC LIMIT ?2";
        self.0.folded_rows(sql, (goal.as_str(), integer(limit)), cycle)
    }

    /// Returns the end of the last reconciliation of a goal that ended well; `None`: none did.
    pub fn last_success(self, goal: &PlanId) -> Result<Option<Moment>, StoreError> {
        let sql = "SELECT ended FROM reconciliations WHERE goal = ?1 AND health IN ('healthy', 'repaired', 'reported')
                   ORDER BY started_at DESC LIMIT 1";
        self.0.folded_first(sql, [goal.as_str()], |row| row.moment("ended"))
    }

    /// Returns the scheduled time of the first reconciliation of a goal that failed since the last one that ended well; of
    /// one without, when it began. `None`: none failed since.
    pub fn failing_since(self, goal: &PlanId) -> Result<Option<Moment>, StoreError> {
        let sql = "SELECT coalesce(slot, started_at) AS since FROM reconciliations
                   WHERE goal = ?1 AND health = 'failed' AND started_at > coalesce(
                       (SELECT started_at FROM reconciliations
                        WHERE goal = ?1 AND health IN ('healthy', 'repaired', 'reported')
                        ORDER BY started_at DESC LIMIT 1), -1)
                   ORDER BY started_at LIMIT 1";
        self.0.folded_first(sql, [goal.as_str()], |row| row.moment("since"))
    }

    /// Returns the health with which the reconciliation before one ended; `None` if none did.
    pub fn health_before(
        self,
        reconciliation: &ReconciliationRow,
    ) -> Result<Option<ReconciliationHealth>, StoreError> {
        let sql = "SELECT health FROM reconciliations WHERE goal = ?1
                   AND (started_at, run) < (?2, ?3) AND health IS NOT NULL ORDER BY started_at DESC, run DESC LIMIT 1";
        let values = (
            reconciliation.goal.as_str(),
            MomentColumn(reconciliation.started_at),
            reconciliation.run.as_str(),
        );
        self.0.folded_first(sql, values, |row| row.word("health"))
    }

    /// Returns the latest reconciliation of each goal.
    pub fn latest_of_goals(self) -> Result<Vec<ReconciliationRow>, StoreError> {
        let sql =
            "SELECT * FROM reconciliations AS own WHERE NOT EXISTS (SELECT 1 FROM reconciliations AS later
                   WHERE later.goal = own.goal AND (later.started_at, later.run) > (own.started_at, own.run))
                   ORDER BY goal";
        self.0.folded_rows(sql, [], cycle)
    }

    /// Returns the number of ended reconciliations of a goal by health.
    pub fn counts(self, goal: &PlanId) -> Result<Vec<(ReconciliationHealth, u64)>, StoreError> {
        let sql = "SELECT health, count(*) AS n FROM reconciliations
                   WHERE goal = ?1 AND health IS NOT NULL GROUP BY health";
        self.0.folded_rows(sql, [goal.as_str()], |row| {
            let n: i64 = row.get("n")?;
            Ok((row.word("health")?, n.unsigned_abs()))
        })
    }

    /// Returns the reconciliations of all goals that have not ended, oldest first.
    pub fn open(self) -> Result<Vec<ReconciliationRow>, StoreError> {
        let sql = "SELECT * FROM reconciliations WHERE ended IS NULL ORDER BY started_at, run";
        self.0.folded_rows(sql, [], cycle)
    }

    /// Returns the reconciliations that ended because a run of theirs waited for the user, oldest first: that
    /// run is live, or ended since. Those waiting for an approval are not included.
    ///
    /// The log says which runs have ended, whatever this reader reads otherwise.
    pub fn waiting(self) -> Result<Vec<ReconciliationRow>, StoreError> {
        let sql = "SELECT * FROM reconciliations WHERE health = 'waiting' ORDER BY started_at, run";
        let mut waiting = self.0.folded_rows(sql, [], cycle)?;
        let runs = waiting.iter().map(|cycle| cycle.last_run().clone()).collect();
        let ends = self.0.query(|connection| RunEndLog(connection).ends(runs))?;
        waiting.retain(|cycle| match ends.get(cycle.last_run()) {
            Some(RunEnd::Open) => true,
            Some(RunEnd::Ended(at)) => {
                cycle.repair.is_some() || cycle.ended.as_ref().is_some_and(|(ended, _, _)| at > ended)
            }
            Some(RunEnd::Pruned) | None => false,
        });
        Ok(waiting)
    }
}

/// Refuses the end of a reconciliation by which its repair should have ended, and has not.
fn check_repair_ended(connection: &Connection, end: &ReconciliationEnd) -> QueryResult<()> {
    if matches!(end.outcome.health, ReconciliationHealth::Waiting | ReconciliationHealth::Cancelled) {
        return Ok(());
    }
    let sql = "SELECT repair_run FROM reconciliations WHERE run = ?1 AND repair_run IS NOT NULL";
    let repair = connection.query_row(sql, [end.run.as_str()], |row| row.get::<_, String>(0)).optional()?;
    if run_end::all_ended(connection, repair.into_iter().map(RunId::from_stored).collect())? {
        Ok(())
    } else {
        Err(StoreError::NotOpen(end.run.clone()).into())
    }
}

/// Records the end of a reconciliation, and what follows from it.
fn record_end(connection: &Connection, end: &ReconciliationEnd) -> rusqlite::Result<bool> {
    let sql = "UPDATE reconciliations SET ended = ?2, health = ?3, reason = ?4
               WHERE run = ?1 AND (ended IS NULL OR health = 'waiting') RETURNING goal";
    let values = (end.run.as_str(), MomentColumn(end.at), end.outcome.health.as_str(), &end.outcome.reason);
    let Some(goal): Option<PlanId> = query::first(connection, sql, values, |row| row.word(0))? else {
        return Ok(false);
    };
    if let Some(reason) = &end.pause {
        goals::pause(connection, &goal, reason, end.at)?;
    }
    for body in &end.notices {
        insert_notification(connection, &goal, body, end.at)?;
    }
    Ok(true)
}

fn cycle(row: &Row<'_>) -> rusqlite::Result<ReconciliationRow> {
    let end = row.moment_if("ended")?.zip(row.word_if("health")?);
    let reason = row.get("reason")?;
    Ok(ReconciliationRow {
        run: row.run("run")?,
        goal: row.word("goal")?,
        slot: row.moment_if("slot")?,
        cause: row.word("cause")?,
        started_at: row.moment("started_at")?,
        repair: row.run_if("repair_run")?,
        ended: end.map(|(at, health)| (at, health, reason)),
    })
}
