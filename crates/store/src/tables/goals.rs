//! The ledger of goals. [`wf_core::goal`] defines the decisions it records.

use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;

use crate::{
    column::{JsonColumn, MomentColumn, RowColumns, integer},
    db::{reader::StoreReader, store::Store, ticket::WriteTicket, writer::WriteContext},
    error::{QueryResult, StoreError},
    query,
    tables::deployment::is_deployed,
};
use wf_base::{name::PlanId, time::Moment};
use wf_core::goal::{ActiveReconciliation, GoalLedgerState, OpenSlot, SlotDecision, truncate_at};
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

/// The tables `goals` and `daemon_leases`.
#[derive(Clone, Copy, Debug)]
pub struct GoalTable<S>(pub(crate) S);

impl GoalTable<&Store> {
    /// Takes the lead in deciding about scheduled times; returns the token to do so under. The
    /// previous leader can decide no more.
    pub fn take_leadership(self, pid: u32, now: Moment) -> WriteTicket<u64> {
        self.0.job(move |writing| {
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
        self,
        goal: LedgerGoal,
        after: Option<Moment>,
        decision: SlotDecision,
        token: Option<u64>,
        now: Moment,
    ) -> WriteTicket<bool> {
        self.0.row_job(now, move |writing| {
            check_leadership(writing, token)?;
            if token.is_some() && is_deployed(writing.connection, &goal.id)? {
                return Ok(false);
            }
            Ok(write(writing.connection, &goal, after, &decision, now)?)
        })
    }

    /// Pauses a goal, if it is not paused; returns false if it was.
    pub fn pause(self, goal: &PlanId, reason: &str, now: Moment) -> WriteTicket<bool> {
        let (goal, reason) = (goal.clone(), reason.to_owned());
        self.0.row_job(now, move |writing| Ok(pause(writing.connection, &goal, &reason, now)?))
    }

    /// Ends the pause of a goal; returns false if it was not paused. The scheduled times in the
    /// pause must have been accounted for.
    pub fn resume(self, goal: &PlanId, now: Moment) -> WriteTicket<bool> {
        let goal = goal.clone();
        self.0.row_job(now, move |writing| {
            let sql = "UPDATE goals SET paused_at = NULL, reason = '', resumed_at = ?2
                       WHERE id = ?1 AND paused_at IS NOT NULL";
            let values = (goal.as_str(), MomentColumn(now));
            Ok(writing.connection.execute(sql, values)? > 0)
        })
    }
}

impl GoalTable<&StoreReader> {
    /// Returns the ledger's knowledge of a goal; `None` if it was never considered.
    pub fn ledger(self, goal: &PlanId) -> Result<Option<GoalLedgerState>, StoreError> {
        self.0.fold_rows()?;
        self.0.query(|connection| known(connection, goal))
    }

    /// Returns the time a goal was last resumed; `None`: never.
    pub fn resumed_at(self, goal: &PlanId) -> Result<Option<Moment>, StoreError> {
        let sql = "SELECT resumed_at FROM goals WHERE id = ?1 AND resumed_at IS NOT NULL";
        self.0.folded_first(sql, [goal.as_str()], |row| row.moment(0))
    }

    /// Returns the goals known to the ledger, by id.
    pub fn all(self) -> Result<Vec<GoalRow>, StoreError> {
        let sql = "SELECT id, path, decided_until, paused_at, reason, deployment FROM goals ORDER BY id";
        self.0.folded_rows(sql, [], |row| {
            let reason = row.get("reason")?;
            Ok(GoalRow {
                id: row.word("id")?,
                path: row.get("path")?,
                decided: row.moment("decided_until")?,
                paused: row.moment_if("paused_at")?.map(|at| (at, reason)),
                deployment: row.json_if("deployment")?,
            })
        })
    }

    /// Returns the newest token for decisions, its process, and the time it was issued.
    pub fn leader(self) -> Result<Option<(u64, u32, Moment)>, StoreError> {
        let sql = "SELECT token, pid, acquired_at FROM daemon_leases ORDER BY token DESC LIMIT 1";
        self.0.query_one(sql, [], |row| {
            let token: i64 = row.get(0)?;
            Ok((token.unsigned_abs(), row.get(1)?, row.moment(2)?))
        })
    }
}

/// Refuses a token that is not the newest.
pub(super) fn check_leadership(writing: &WriteContext<'_>, token: Option<u64>) -> QueryResult<()> {
    let Some(token) = token else { return Ok(()) };
    let sql = "SELECT token, pid FROM daemon_leases ORDER BY token DESC LIMIT 1";
    let newest: Option<(i64, u32)> =
        writing.connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    match newest {
        Some((newest, by)) if newest.unsigned_abs() != token => Err(StoreError::Superseded { by }.into()),
        _ => Ok(()),
    }
}

fn write(
    connection: &Connection,
    goal: &LedgerGoal,
    after: Option<Moment>,
    decision: &SlotDecision,
    now: Moment,
) -> rusqlite::Result<bool> {
    let sql = "SELECT decided_until FROM goals WHERE id = ?1";
    if query::first(connection, sql, [goal.id.as_str()], |row| row.moment(0))? != after {
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
            integer(row.count),
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
    for first in query::all(connection, sql, values, |row| row.moment(0))? {
        let (last, count) = truncate_at(&timing, first, decided);
        let count = integer(count);
        let sql = "UPDATE slots SET last_slot = ?3, count = ?4 WHERE goal = ?1 AND slot = ?2";
        connection.execute(sql, (goal.as_str(), MomentColumn(first), MomentColumn(last), count))?;
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
            let reason = row.get("reason")?;
            Ok(GoalLedgerState {
                timing: serde_json::from_str(&row.get::<_, String>("timing")?).ok(),
                decided_until: row.moment("decided_until")?,
                paused: row.moment_if("paused_at")?.map(|at| (at, reason)),
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
    known.open_slots = query::all(connection, sql, [goal.as_str()], |row| {
        Ok(OpenSlot {
            slot: row.moment("slot")?,
            state: row.word("state")?,
            cause: row.word("cause")?,
            at: row.moment("at")?,
        })
    })?;
    let sql = "SELECT slot, run FROM reconciliations WHERE goal = ?1 AND ended IS NULL ORDER BY slot, run";
    known.active = query::all(connection, sql, [goal.as_str()], |row| {
        Ok(ActiveReconciliation { slot: row.moment_if("slot")?, run: row.run("run")? })
    })?;
    let sql = "SELECT slot FROM slots WHERE goal = ?1 AND slot > ?2 AND state = 'started'";
    let after = (goal.as_str(), MomentColumn(known.decided_until));
    known.unaccounted_starts = query::all(connection, sql, after, |row| row.moment(0))?;
    Ok(Some(known))
}
