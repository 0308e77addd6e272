//! The ledger of goals. [`wf_core::goal`] defines the decisions it records.

use rusqlite::{Connection, OptionalExtension, Params, Row};
use serde_json::Value;

use crate::{
    column::{JsonColumn, MomentColumn, WordColumn},
    db::{reader::StoreReader, store::Store, ticket::WriteTicket, writer::WriteContext},
    error::StoreError,
    tables::deployment::is_deployed,
};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::goal::{
    ActiveReconciliation, GoalLedgerState, OpenSlot, ReconciliationCause, SlotDecision, SlotState,
    truncate_at,
};
use wf_model::schedule::GoalSchedule;

/// A goal as the ledger names it.
#[derive(Clone, Debug, PartialEq)]
pub struct LedgerGoal {
    pub id: PlanId,
    /// Its file.
    pub path: String,
    pub schedule: GoalSchedule,
}

/// A goal known to the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalRow {
    pub id: PlanId,
    /// The path of its file when it was last considered.
    pub path: String,
    /// The time up to which all scheduled times are accounted for.
    pub decided: Moment,
    /// The start of its pause and the reason, if it is paused.
    pub paused: Option<(Moment, String)>,
    /// Its deployment on a backend, if it has one.
    pub deployment: Option<Value>,
}

/// The ledger's entry for a scheduled time, or for several in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRow {
    /// The scheduled time; the first of several.
    pub slot: Moment,
    /// The last of several.
    pub last: Moment,
    /// The number of scheduled times.
    pub count: u64,
    pub state: SlotState,
    pub cause: ReconciliationCause,
    /// The reason why it was not started, or was late.
    pub reason: String,
    /// The time of the decision.
    pub at: Moment,
    /// The first run of its reconciliation.
    pub run: Option<RunId>,
}

impl Store {
    /// Takes the lead in deciding about scheduled times; returns the token to do so under. The
    /// previous leader can decide no more.
    pub fn take_leadership(&self, pid: u32, now: Moment) -> WriteTicket<u64> {
        self.sql(move |writing| {
            let sql = "INSERT INTO daemon_leases (token, pid, acquired_at)
                       SELECT coalesce(max(token), 0) + 1, ?1, ?2 FROM daemon_leases RETURNING token";
            let token: i64 = writing.connection.query_row(sql, (pid, MomentColumn(now)), |row| row.get(0))?;
            let old = "DELETE FROM daemon_leases WHERE token < ?1 - 100";
            writing.connection.execute(old, [token])?;
            Ok(token.unsigned_abs())
        })
    }

    /// Records a decision about the scheduled times of a goal, atomically. `after` is the time up
    /// to which they were accounted for when it was made: if another decision was recorded
    /// meanwhile, nothing is written and the result is false; so it is for a daemon if the goal is deployed. Under a token that
    /// is not the newest it is refused with [`StoreError::Superseded`].
    pub fn record_decision(
        &self,
        goal: LedgerGoal,
        after: Option<Moment>,
        decision: SlotDecision,
        token: Option<u64>,
        now: Moment,
    ) -> WriteTicket<bool> {
        self.row_job(now, move |writing| {
            check_leadership(writing, token)?;
            let failed = |error| writing.failed(&error);
            if token.is_some() && is_deployed(writing.connection, &goal.id).map_err(failed)? {
                return Ok(false);
            }
            write(writing, &goal, after, &decision, now).map_err(|error| writing.failed(&error))
        })
    }

    /// Pauses a goal, if it is not paused; returns false if it was.
    pub fn pause_goal(&self, goal: &PlanId, reason: &str, now: Moment) -> WriteTicket<bool> {
        let (goal, reason) = (goal.clone(), reason.to_owned());
        self.row_job(now, move |writing| {
            pause(writing.connection, &goal, &reason, now).map_err(|error| writing.failed(&error))
        })
    }

    /// Ends the pause of a goal; returns false if it was not paused. The scheduled times in the
    /// pause must have been accounted for.
    pub fn resume_goal(&self, goal: &PlanId, now: Moment) -> WriteTicket<bool> {
        let goal = goal.clone();
        self.row_job(now, move |writing| {
            let sql = "UPDATE goals SET paused_at = NULL, reason = '', resumed_at = ?2
                       WHERE id = ?1 AND paused_at IS NOT NULL";
            let values = (goal.as_str(), MomentColumn(now));
            let changed = writing.connection.execute(sql, values);
            changed.map(|changed| changed > 0).map_err(|error| writing.failed(&error))
        })
    }
}

impl StoreReader {
    /// Returns the ledger's knowledge of a goal; `None` if it was never considered.
    pub fn known(&self, goal: &PlanId) -> Result<Option<GoalLedgerState>, StoreError> {
        self.fold_rows()?;
        known(self.connection(), goal).map_err(|error| self.failed(&error))
    }

    /// Returns the time a goal was last resumed; `None`: never.
    pub fn resumed(&self, goal: &PlanId) -> Result<Option<Moment>, StoreError> {
        let sql = "SELECT resumed_at FROM goals WHERE id = ?1 AND resumed_at IS NOT NULL";
        let found = self.folded_rows(sql, [goal.as_str()], |row| row.get::<_, MomentColumn>(0))?;
        Ok(found.first().map(|at| at.0))
    }

    /// Returns the goals known to the ledger, by id.
    pub fn goals(&self) -> Result<Vec<GoalRow>, StoreError> {
        let sql = "SELECT id, path, decided_until, paused_at, reason, deployment FROM goals ORDER BY id";
        self.folded_rows(sql, [], |row| {
            let paused: Option<MomentColumn> = row.get("paused_at")?;
            let reason: String = row.get("reason")?;
            Ok(GoalRow {
                id: row.get::<_, WordColumn<_>>("id")?.0,
                path: row.get("path")?,
                decided: row.get::<_, MomentColumn>("decided_until")?.0,
                paused: paused.map(|at| (at.0, reason)),
                deployment: row.get::<_, Option<JsonColumn<_>>>("deployment")?.map(|json| json.0),
            })
        })
    }

    /// Returns the scheduled times of a goal in the ledger between two instants, in order; `None`:
    /// without end.
    pub fn slots(
        &self,
        goal: &PlanId,
        from: Option<Moment>,
        to: Option<Moment>,
    ) -> Result<Vec<SlotRow>, StoreError> {
        let sql = "SELECT * FROM slots WHERE goal = ?1 AND last_slot >= ?2 AND slot <= ?3 ORDER BY slot";
        let from = from.map_or(i64::MIN, Moment::millis);
        let to = to.map_or(i64::MAX, Moment::millis);
        self.folded_rows(sql, (goal.as_str(), from, to), slot_row)
    }

    /// Returns the latest scheduled times of a goal in the ledger, in order.
    pub fn latest_slots(&self, goal: &PlanId, limit: usize) -> Result<Vec<SlotRow>, StoreError> {
        let sql = "SELECT * FROM slots WHERE goal = ?1 ORDER BY slot DESC LIMIT ?2";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut rows = self.folded_rows(sql, (goal.as_str(), limit), slot_row)?;
        rows.reverse();
        Ok(rows)
    }

    /// Returns the number of scheduled times of a goal by state.
    pub fn slot_counts(&self, goal: &PlanId) -> Result<Vec<(SlotState, u64)>, StoreError> {
        let sql = "SELECT state, sum(count) AS n FROM slots WHERE goal = ?1 GROUP BY state";
        self.folded_rows(sql, [goal.as_str()], |row| {
            let n: i64 = row.get("n")?;
            Ok((row.get::<_, WordColumn<_>>("state")?.0, n.unsigned_abs()))
        })
    }

    /// Returns the newest token for decisions, its process, and the time it was issued.
    pub fn leader(&self) -> Result<Option<(u64, u32, Moment)>, StoreError> {
        let sql = "SELECT token, pid, acquired_at FROM daemon_leases ORDER BY token DESC LIMIT 1";
        let found = self.rows(sql, [], |row| {
            let token: i64 = row.get(0)?;
            Ok((token.unsigned_abs(), row.get(1)?, row.get::<_, MomentColumn>(2)?.0))
        })?;
        Ok(found.into_iter().next())
    }

    /// Reads rows of the recorded tables, as the log yields them.
    pub(super) fn folded_rows<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.fold_rows()?;
        self.rows(sql, values, read)
    }

    /// Ensures that the projections of this reader have all the log holds about the runs a query over the
    /// recorded tables yields.
    pub(super) fn fold_runs(&self, sql: &str, values: impl Params) -> Result<(), StoreError> {
        self.fold_heads()?;
        let runs = self.folded_rows(sql, values, |row| row.get::<_, String>(0).map(RunId::from_stored))?;
        runs.iter().try_for_each(|run| self.fold(run))
    }

    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        all(self.connection(), sql, values, read).map_err(|error| self.failed(&error))
    }
}

/// Refuses a token that is not the newest.
pub(super) fn check_leadership(writing: &WriteContext<'_>, token: Option<u64>) -> Result<(), StoreError> {
    let Some(token) = token else { return Ok(()) };
    let sql = "SELECT token, pid FROM daemon_leases ORDER BY token DESC LIMIT 1";
    let newest: Option<(i64, u32)> = writing
        .connection
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
        .map_err(|error| writing.failed(&error))?;
    match newest {
        Some((newest, by)) if newest.unsigned_abs() != token => Err(StoreError::Superseded { by }),
        _ => Ok(()),
    }
}

fn write(
    writing: &WriteContext<'_>,
    goal: &LedgerGoal,
    after: Option<Moment>,
    decision: &SlotDecision,
    now: Moment,
) -> rusqlite::Result<bool> {
    let connection = writing.connection;
    let sql = "SELECT decided_until FROM goals WHERE id = ?1";
    let found: Option<MomentColumn> =
        connection.query_row(sql, [goal.id.as_str()], |row| row.get(0)).optional()?;
    if found.map(|at| at.0) != after {
        return Ok(false);
    }
    if after.is_some_and(|after| decision.decided_until < after) {
        remove_future_slots(connection, &goal.id, decision.decided_until)?;
    }
    connection
        .prepare_cached(
            "INSERT INTO goals (id, path, timing, decided_until) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET path = excluded.path, timing = excluded.timing,
                 decided_until = excluded.decided_until",
        )?
        .execute((
            goal.id.as_str(),
            &goal.path,
            JsonColumn(&goal.schedule),
            MomentColumn(decision.decided_until),
        ))?;
    // A scheduled time with a final decision is not decided again.
    let mut put = connection.prepare_cached(
        "INSERT INTO slots (goal, slot, last_slot, count, state, cause, reason, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT DO UPDATE SET state = excluded.state,
             reason = CASE excluded.reason WHEN '' THEN reason ELSE excluded.reason END
         WHERE state IN ('due', 'queued')",
    )?;
    for row in &decision.rows {
        put.execute((
            goal.id.as_str(),
            MomentColumn(row.slot),
            MomentColumn(row.last),
            i64::try_from(row.count).unwrap_or(i64::MAX),
            row.state.as_str(),
            row.cause.as_str(),
            &row.reason,
            MomentColumn(now),
        ))?;
    }
    Ok(true)
}

/// Removes skipped and missed times a fast clock recorded and that are still in the future.
fn remove_future_slots(connection: &Connection, goal: &PlanId, decided: Moment) -> rusqlite::Result<()> {
    let sql = "DELETE FROM slots WHERE goal = ?1 AND slot > ?2 AND state IN ('skipped', 'blocked', 'missed')";
    connection.execute(sql, (goal.as_str(), MomentColumn(decided)))?;
    let Some(timing) = known(connection, goal)?.and_then(|known| known.timing) else {
        return Ok(());
    };
    let sql = "SELECT slot FROM slots WHERE goal = ?1 AND slot <= ?2 AND last_slot > ?2 AND count > 1";
    let values = (goal.as_str(), MomentColumn(decided));
    for first in all(connection, sql, values, |row| row.get::<_, MomentColumn>(0))? {
        let (last, count) = truncate_at(&timing, first.0, decided);
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let sql = "UPDATE slots SET last_slot = ?3, count = ?4 WHERE goal = ?1 AND slot = ?2";
        connection.execute(sql, (goal.as_str(), first, MomentColumn(last), count))?;
    }
    Ok(())
}

pub(crate) fn pause(
    connection: &Connection,
    goal: &PlanId,
    reason: &str,
    now: Moment,
) -> rusqlite::Result<bool> {
    let sql = "UPDATE goals SET paused_at = ?2, reason = ?3 WHERE id = ?1 AND paused_at IS NULL";
    Ok(connection.execute(sql, (goal.as_str(), MomentColumn(now), reason))? > 0)
}

pub(crate) fn known(connection: &Connection, goal: &PlanId) -> rusqlite::Result<Option<GoalLedgerState>> {
    let sql = "SELECT timing, decided_until, paused_at, reason FROM goals WHERE id = ?1";
    let head = connection
        .prepare_cached(sql)?
        .query_row([goal.as_str()], |row| {
            let reason: String = row.get("reason")?;
            let paused: Option<MomentColumn> = row.get("paused_at")?;
            Ok(GoalLedgerState {
                timing: serde_json::from_str(&row.get::<_, String>("timing")?).ok(),
                decided_until: row.get::<_, MomentColumn>("decided_until")?.0,
                paused: paused.map(|at| (at.0, reason)),
                open_slots: Vec::new(),
                active: Vec::new(),
                unaccounted_starts: Vec::new(),
            })
        })
        .optional()?;
    let Some(mut known) = head else {
        return Ok(None);
    };
    let sql = "SELECT slot, state, cause, at FROM slots
               WHERE goal = ?1 AND state IN ('due', 'queued') ORDER BY slot";
    known.open_slots = all(connection, sql, [goal.as_str()], |row| {
        Ok(OpenSlot {
            slot: row.get::<_, MomentColumn>("slot")?.0,
            state: row.get::<_, WordColumn<_>>("state")?.0,
            cause: row.get::<_, WordColumn<_>>("cause")?.0,
            at: row.get::<_, MomentColumn>("at")?.0,
        })
    })?;
    let sql = "SELECT slot, run FROM reconciliations WHERE goal = ?1 AND ended IS NULL ORDER BY slot, run";
    known.active = all(connection, sql, [goal.as_str()], |row| {
        let slot: Option<MomentColumn> = row.get("slot")?;
        Ok(ActiveReconciliation {
            slot: slot.map(|at| at.0),
            run: RunId::from_stored(row.get::<_, String>("run")?),
        })
    })?;
    let sql = "SELECT slot FROM slots WHERE goal = ?1 AND slot > ?2 AND state = 'started'";
    let after = (goal.as_str(), MomentColumn(known.decided_until));
    known.unaccounted_starts =
        all(connection, sql, after, |row| row.get::<_, MomentColumn>(0).map(|at| at.0))?;
    Ok(Some(known))
}

pub(super) fn slot_row(row: &Row<'_>) -> rusqlite::Result<SlotRow> {
    let count: i64 = row.get("count")?;
    let run: Option<String> = row.get("run")?;
    Ok(SlotRow {
        slot: row.get::<_, MomentColumn>("slot")?.0,
        last: row.get::<_, MomentColumn>("last_slot")?.0,
        count: count.unsigned_abs(),
        state: row.get::<_, WordColumn<_>>("state")?.0,
        cause: row.get::<_, WordColumn<_>>("cause")?.0,
        reason: row.get("reason")?,
        at: row.get::<_, MomentColumn>("at")?.0,
        run: run.map(RunId::from_stored),
    })
}

fn all<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map(values, read)?.collect()
}
