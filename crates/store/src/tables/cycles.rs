//! The reconciliations of goals, and the slots that could not start one.

use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::Value;

use crate::{
    column::{MomentColumn, WordColumn},
    db::{reader::StoreReader, store::Store, ticket::WriteTicket, writer::WriteContext},
    error::StoreError,
    events::run_end::{self, RunEnd, RunEndLog},
    tables::{goals, outbox::insert_notification},
};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::goal::{GoalOutcome, ReconciliationCause, ReconciliationHealth, SlotState};

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

/// A scheduled time that was due and whose reconciliation may not start.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotBlock {
    pub goal: PlanId,
    /// The scheduled time.
    pub slot: Moment,
    /// The reason why it may not start.
    pub reason: String,
    /// The notifications to send.
    pub notices: Vec<Value>,
    /// The time it was decided.
    pub at: Moment,
}

/// The refusal of reconciliations of a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoalBlock {
    /// The first scheduled time refused.
    pub since: Moment,
    /// The time of the last refusal.
    pub at: Moment,
    /// The reason for the last refusal.
    pub reason: String,
}

impl Store {
    /// Records the end of a reconciliation, once: ending it again changes nothing and returns false.
    /// Only one that waited for the user may end anew. Refused with [`StoreError::NotOpen`] while its repair
    /// runs, unless it ends as waiting or cancelled.
    pub fn end_cycle(&self, end: ReconciliationEnd) -> WriteTicket<bool> {
        self.row_job(end.at, move |writing| {
            check_repair_ended(writing, &end)?;
            record_end(writing.connection, &end).map_err(|error| writing.failed(&error))
        })
    }

    /// Blocks a scheduled time that was due and may not start, and queues notifications: once, as long
    /// as the scheduled times before it were blocked for the same reason.
    pub fn block_slot(&self, block: SlotBlock, token: Option<u64>) -> WriteTicket<bool> {
        self.row_job(block.at, move |writing| {
            goals::check_leadership(writing, token)?;
            let failed = |error| writing.failed(&error);
            let connection = writing.connection;
            let SlotBlock { goal, slot, reason, notices, at } = &block;
            let sql = "SELECT reason FROM slots WHERE goal = ?1 AND slot < ?2
                       AND state IN ('started', 'blocked') ORDER BY slot DESC LIMIT 1";
            let before: Option<String> = connection
                .query_row(sql, (goal.as_str(), MomentColumn(*slot)), |row| row.get(0))
                .optional()
                .map_err(failed)?;
            let sql = "UPDATE slots SET state = 'blocked', reason = ?3, at = ?4
                       WHERE goal = ?1 AND slot = ?2 AND state IN ('due', 'queued')";
            let values = (goal.as_str(), MomentColumn(*slot), reason, MomentColumn(*at));
            let changed = connection.execute(sql, values).map_err(failed)?;
            if changed > 0 && before.as_ref() != Some(reason) {
                for body in notices {
                    insert_notification(connection, goal, body, *at).map_err(failed)?;
                }
            }
            Ok(changed > 0)
        })
    }
}

impl StoreReader {
    /// Returns a reconciliation by its first run.
    pub fn cycle(&self, run: &RunId) -> Result<Option<ReconciliationRow>, StoreError> {
        let found =
            self.folded_rows("SELECT * FROM reconciliations WHERE run = ?1", [run.as_str()], cycle)?;
        Ok(found.into_iter().next())
    }

    /// Returns the latest ended reconciliations of a goal, newest first.
    pub fn cycles(&self, goal: &PlanId, limit: usize) -> Result<Vec<ReconciliationRow>, StoreError> {
        let sql = "SELECT * FROM reconciliations WHERE goal = ?1 ORDER BY started_at DESC, run DESC LIMIT ?2";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.folded_rows(sql, (goal.as_str(), limit), cycle)
    }

    /// Returns the block of a goal, if the last of its scheduled times that could start were refused.
    pub fn blocked(&self, goal: &PlanId) -> Result<Option<GoalBlock>, StoreError> {
        // A goal may be blocked for months, each minute: one row is read.
        let sql = "WITH refused AS (SELECT slot, at, reason FROM slots WHERE goal = ?1 AND state = 'blocked' AND slot >
                       (SELECT coalesce(max(slot), 0) FROM slots WHERE goal = ?1 AND state = 'started'))
                   SELECT (SELECT min(slot) FROM refused) AS since, at, reason FROM refused
                   ORDER BY slot DESC LIMIT 1";
        let rows = self.folded_rows(sql, [goal.as_str()], |row| {
            let since = row.get::<_, MomentColumn>("since")?.0;
            Ok(GoalBlock { since, at: row.get::<_, MomentColumn>("at")?.0, reason: row.get("reason")? })
        })?;
        Ok(rows.into_iter().next())
    }

    /// True if the last scheduled time before one that could start was blocked.
    pub fn is_blocked_before(&self, goal: &PlanId, slot: Moment) -> Result<bool, StoreError> {
        let sql = "SELECT state FROM slots WHERE goal = ?1 AND slot < ?2 AND state IN ('started', 'blocked')
                   ORDER BY slot DESC LIMIT 1";
        let found = self.folded_rows(sql, (goal.as_str(), MomentColumn(slot)), |row| {
            row.get::<_, WordColumn<SlotState>>("state")
        })?;
        Ok(found.first().is_some_and(|state| state.0 == SlotState::Blocked))
    }

    /// Returns the end of the last reconciliation of a goal that ended well; `None`: none did.
    pub fn last_success(&self, goal: &PlanId) -> Result<Option<Moment>, StoreError> {
        let sql = "SELECT ended FROM reconciliations WHERE goal = ?1 AND health IN ('healthy', 'repaired', 'reported')
                   ORDER BY started_at DESC LIMIT 1";
        let found = self.folded_rows(sql, [goal.as_str()], |row| row.get::<_, MomentColumn>("ended"))?;
        Ok(found.first().map(|at| at.0))
    }

    /// Returns the health with which the reconciliation before one ended; `None` if none did.
    pub fn health_before(
        &self,
        reconciliation: &ReconciliationRow,
    ) -> Result<Option<ReconciliationHealth>, StoreError> {
        let sql = "SELECT health FROM reconciliations WHERE goal = ?1
                   AND (started_at, run) < (?2, ?3) AND health IS NOT NULL ORDER BY started_at DESC, run DESC LIMIT 1";
        let values = (
            reconciliation.goal.as_str(),
            MomentColumn(reconciliation.started_at),
            reconciliation.run.as_str(),
        );
        let found = self.folded_rows(sql, values, |row| Ok(row.get::<_, WordColumn<_>>("health")?.0))?;
        Ok(found.into_iter().next())
    }

    /// Returns the latest reconciliation of each goal.
    pub fn latest_cycles(&self) -> Result<Vec<ReconciliationRow>, StoreError> {
        let sql =
            "SELECT * FROM reconciliations AS own WHERE NOT EXISTS (SELECT 1 FROM reconciliations AS later
                   WHERE later.goal = own.goal AND (later.started_at, later.run) > (own.started_at, own.run))
                   ORDER BY goal";
        self.folded_rows(sql, [], cycle)
    }

    /// Returns the number of ended reconciliations of a goal by health.
    pub fn cycle_counts(&self, goal: &PlanId) -> Result<Vec<(ReconciliationHealth, u64)>, StoreError> {
        let sql = "SELECT health, count(*) AS n FROM reconciliations
                   WHERE goal = ?1 AND health IS NOT NULL GROUP BY health";
        self.folded_rows(sql, [goal.as_str()], |row| {
            let n: i64 = row.get("n")?;
            Ok((row.get::<_, WordColumn<_>>("health")?.0, n.unsigned_abs()))
        })
    }

    /// Returns the reconciliations of all goals that have not ended, oldest first.
    pub fn live_cycles(&self) -> Result<Vec<ReconciliationRow>, StoreError> {
        let sql = "SELECT * FROM reconciliations WHERE ended IS NULL ORDER BY started_at, run";
        self.folded_rows(sql, [], cycle)
    }

    /// Returns the reconciliations that ended because a run of theirs waited for the user, oldest first: that
    /// run is live, or ended since. Those waiting for an approval are not included.
    ///
    /// The log says which runs have ended, whatever this reader reads otherwise.
    pub fn waiting_cycles(&self) -> Result<Vec<ReconciliationRow>, StoreError> {
        let sql = "SELECT * FROM reconciliations WHERE health = 'waiting' ORDER BY started_at, run";
        let mut waiting = self.folded_rows(sql, [], cycle)?;
        let path = self.folder().database();
        let log = RunEndLog { connection: self.connection(), path: &path };
        let ends = log.ends(waiting.iter().map(|cycle| cycle.last_run().clone()).collect())?;
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
fn check_repair_ended(writing: &WriteContext<'_>, end: &ReconciliationEnd) -> Result<(), StoreError> {
    if matches!(end.outcome.health, ReconciliationHealth::Waiting | ReconciliationHealth::Cancelled) {
        return Ok(());
    }
    let sql = "SELECT repair_run FROM reconciliations WHERE run = ?1 AND repair_run IS NOT NULL";
    let repair = writing.connection.query_row(sql, [end.run.as_str()], |row| row.get::<_, String>(0));
    let repair = repair.optional().map_err(|error| writing.failed(&error))?;
    if run_end::all_ended(writing, repair.into_iter().map(RunId::from_stored).collect())? {
        Ok(())
    } else {
        Err(StoreError::NotOpen(end.run.clone()))
    }
}

/// Records the end of a reconciliation, and what follows from it.
fn record_end(connection: &Connection, end: &ReconciliationEnd) -> rusqlite::Result<bool> {
    let sql = "UPDATE reconciliations SET ended = ?2, health = ?3, reason = ?4
               WHERE run = ?1 AND (ended IS NULL OR health = 'waiting') RETURNING goal";
    let values = (end.run.as_str(), MomentColumn(end.at), end.outcome.health.as_str(), &end.outcome.reason);
    let goal: Option<WordColumn<PlanId>> = connection.query_row(sql, values, |row| row.get(0)).optional()?;
    let Some(WordColumn(goal)) = goal else {
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
    let text = |name| row.get::<_, Option<String>>(name);
    let ended: Option<MomentColumn> = row.get("ended")?;
    let health: Option<WordColumn<ReconciliationHealth>> = row.get("health")?;
    let reason: String = row.get("reason")?;
    Ok(ReconciliationRow {
        run: RunId::from_stored(row.get::<_, String>("run")?),
        goal: row.get::<_, WordColumn<_>>("goal")?.0,
        slot: row.get::<_, Option<MomentColumn>>("slot")?.map(|at| at.0),
        cause: row.get::<_, WordColumn<_>>("cause")?.0,
        started_at: row.get::<_, MomentColumn>("started_at")?.0,
        repair: text("repair_run")?.map(RunId::from_stored),
        ended: ended.zip(health).map(|(at, health)| (at.0, health.0, reason)),
    })
}
