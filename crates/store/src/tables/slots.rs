//! The scheduled times of goals, decided or due.

use rusqlite::{OptionalExtension, Row};
use serde_json::Value;

use crate::{
    column::{MomentColumn, RowColumns, integer},
    db::{reader::StoreReader, store::Store, ticket::WriteTicket},
    error::StoreError,
    tables::{goals, outbox::insert_notification},
};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::goal::{ReconciliationCause, ReconciliationHealth, SlotState};

/// The table `slots`.
#[derive(Clone, Copy, Debug)]
pub struct SlotTable<S>(pub(crate) S);

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

impl SlotTable<&Store> {
    /// Blocks a scheduled time that was due and may not start, and queues notifications: once, as long
    /// as the scheduled times before it were blocked for the same reason.
    pub fn block(self, block: SlotBlock, token: Option<u64>) -> WriteTicket<bool> {
        self.0.row_job(block.at, move |writing| {
            goals::check_leadership(writing, token)?;
            let connection = writing.connection;
            let SlotBlock { goal, slot, reason, notices, at } = &block;
            let sql = "SELECT reason FROM slots WHERE goal = ?1 AND slot < ?2
                       AND state IN ('started', 'blocked') ORDER BY slot DESC LIMIT 1";
            let before: Option<String> = connection
                .query_row(sql, (goal.as_str(), MomentColumn(*slot)), |row| row.get(0))
                .optional()?;
            let sql = "UPDATE slots SET state = 'blocked', reason = ?3, at = ?4
                       WHERE goal = ?1 AND slot = ?2 AND state IN ('due', 'queued')";
            let values = (goal.as_str(), MomentColumn(*slot), reason, MomentColumn(*at));
            let changed = connection.execute(sql, values)?;
            if changed > 0 && before.as_ref() != Some(reason) {
                for body in notices {
                    insert_notification(connection, goal, body, *at)?;
                }
            }
            Ok(changed > 0)
        })
    }
}

/// The scheduled times that begin in a quarter of an hour, of one state and one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotTally {
    /// The beginning of the quarter.
    pub quarter: Moment,
    /// The last of them: several in a row may reach beyond the quarter.
    pub last: Moment,
    pub count: u64,
    pub state: SlotState,
    /// The result of their reconciliations; `None`: there was none, or it has not ended.
    pub health: Option<ReconciliationHealth>,
}

impl SlotTable<&StoreReader> {
    /// Returns the scheduled times of a goal in the ledger between two instants, in order; `None`:
    /// without end.
    pub fn between(
        self,
        goal: &PlanId,
        from: Option<Moment>,
        to: Option<Moment>,
    ) -> Result<Vec<SlotRow>, StoreError> {
        let sql = "SELECT * FROM slots WHERE goal = ?1 AND last_slot >= ?2 AND slot <= ?3 ORDER BY slot";
        let from = from.map_or(i64::MIN, Moment::millis);
        let to = to.map_or(i64::MAX, Moment::millis);
        self.0.folded_rows(sql, (goal.as_str(), from, to), slot_row)
    }

    /// Counts the scheduled times of a goal in the ledger between two instants, with those that reach into them, in order.
    pub fn tallies(self, goal: &PlanId, from: Moment, to: Moment) -> Result<Vec<SlotTally>, StoreError> {
        let sql = "SELECT slots.slot / 900000 * 900000 AS quarter, max(last_slot) AS last, sum(count) AS n, state, health
                   FROM slots LEFT JOIN reconciliations ON reconciliations.run = slots.run
                   WHERE slots.goal = ?1 AND slots.slot < ?3 AND slots.slot >=
                       (SELECT coalesce(max(slot), ?2) FROM slots WHERE goal = ?1 AND slot <= ?2)
                   GROUP BY quarter, state, health ORDER BY quarter";
        self.0.folded_rows(sql, (goal.as_str(), MomentColumn(from), MomentColumn(to)), |row| {
            let n: i64 = row.get("n")?;
            Ok(SlotTally {
                quarter: row.moment("quarter")?,
                last: row.moment("last")?,
                count: n.unsigned_abs(),
                state: row.word("state")?,
                health: row.word_if("health")?,
            })
        })
    }

    /// Returns the first scheduled time of a goal in the ledger; `None`: it has none.
    pub fn first(self, goal: &PlanId) -> Result<Option<Moment>, StoreError> {
        let sql = "SELECT slot FROM slots WHERE goal = ?1 ORDER BY slot LIMIT 1";
        self.0.folded_first(sql, [goal.as_str()], |row| row.moment("slot"))
    }

    /// Returns the latest scheduled times of a goal in the ledger, in order.
    pub fn latest(self, goal: &PlanId, limit: usize) -> Result<Vec<SlotRow>, StoreError> {
        let sql = "SELECT * FROM slots WHERE goal = ?1 ORDER BY slot DESC LIMIT ?2";
        let mut rows = self.0.folded_rows(sql, (goal.as_str(), integer(limit)), slot_row)?;
        rows.reverse();
        Ok(rows)
    }

    /// Returns the number of scheduled times of a goal by state.
    pub fn counts(self, goal: &PlanId) -> Result<Vec<(SlotState, u64)>, StoreError> {
        let sql = "SELECT state, sum(count) AS n FROM slots WHERE goal = ?1 GROUP BY state";
        self.0.folded_rows(sql, [goal.as_str()], |row| {
            let n: i64 = row.get("n")?;
            Ok((row.word("state")?, n.unsigned_abs()))
        })
    }

    /// Returns the block of a goal, if the last of its scheduled times that could start were refused.
    pub fn goal_block(self, goal: &PlanId) -> Result<Option<GoalBlock>, StoreError> {
        // A goal may be blocked for months, each minute: one row is read.
        let sql = "WITH refused AS (SELECT slot, at, reason FROM slots WHERE goal = ?1 AND state = 'blocked' AND slot >
                       (SELECT coalesce(max(slot), 0) FROM slots WHERE goal = ?1 AND state = 'started'))
                   SELECT (SELECT min(slot) FROM refused) AS since, at, reason FROM refused
                   ORDER BY slot DESC LIMIT 1";
        self.0.folded_first(sql, [goal.as_str()], |row| {
            let since = row.moment("since")?;
            Ok(GoalBlock { since, at: row.moment("at")?, reason: row.get("reason")? })
        })
    }

    /// True if the last scheduled time before one that could start was blocked.
    pub fn is_blocked_before(self, goal: &PlanId, slot: Moment) -> Result<bool, StoreError> {
        let sql = "SELECT state FROM slots WHERE goal = ?1 AND slot < ?2 AND state IN ('started', 'blocked')
                   ORDER BY slot DESC LIMIT 1";
        let values = (goal.as_str(), MomentColumn(slot));
        Ok(self.0.folded_first(sql, values, |row| row.word("state"))? == Some(SlotState::Blocked))
    }
}

pub(super) fn slot_row(row: &Row<'_>) -> rusqlite::Result<SlotRow> {
    let count: i64 = row.get("count")?;
    let run: Option<String> = row.get("run")?;
    Ok(SlotRow {
        slot: row.moment("slot")?,
        last: row.moment("last_slot")?,
        count: count.unsigned_abs(),
        state: row.word("state")?,
        cause: row.word("cause")?,
        reason: row.get("reason")?,
        at: row.moment("at")?,
        run: run.map(RunId::from_stored),
    })
}
