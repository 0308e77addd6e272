//! What is accounted for of goals. [`crate::goal`] says what follows from it.

use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::column::{At, Json, Word};
use super::writer::Writing;
use super::{Reader, Store, StoreError, Ticket};
use crate::goal::{Cause, Decision, Known, Live, Open, SlotState, cut_off};
use crate::name::{PlanId, RunId};
use crate::schedule::Timing;
use crate::time::Moment;

/// A goal as the ledger names it.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalNote {
    /// Its id.
    pub id: PlanId,
    /// Its file.
    pub path: String,
    /// When it is due.
    pub timing: Timing,
}

/// A goal that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalRow {
    /// Its id.
    pub id: PlanId,
    /// Its file, when it was last looked at.
    pub path: String,
    /// All slots up to here are accounted for.
    pub decided: Moment,
    /// Since when it is paused, and why.
    pub paused: Option<(Moment, String)>,
}

/// What the ledger says of a slot, or of several in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRow {
    /// The slot; the first of several.
    pub slot: Moment,
    /// The last of several.
    pub last: Moment,
    /// How many.
    pub count: u64,
    /// What became of it.
    pub state: SlotState,
    /// What its cycle was begun for.
    pub cause: Cause,
    /// Why it did not begin, or why late.
    pub why: String,
    /// When that was decided.
    pub at: Moment,
    /// The first run of its cycle.
    pub run: Option<RunId>,
}

impl Store {
    /// Becomes the one who decides about slots; gives the token to do so under. Whoever decided
    /// before can do so no more.
    pub fn lead(&self, pid: u32, now: Moment) -> Ticket<u64> {
        self.sql(move |writing| {
            let sql = "INSERT INTO leaders (token, pid, since)
                       SELECT coalesce(max(token), 0) + 1, ?1, ?2 FROM leaders RETURNING token";
            let token: i64 = writing
                .connection
                .query_row(sql, (pid, At(now)), |row| row.get(0))?;
            let old = "DELETE FROM leaders WHERE token < ?1 - 100";
            writing.connection.execute(old, [token])?;
            Ok(token.unsigned_abs())
        })
    }

    /// Writes down what was decided about the slots of a goal, all of it or nothing. `after` is how
    /// far the slots were accounted for when it was decided: if somebody else decided meanwhile,
    /// nothing is written and the answer is no. Under a token that is not the newest it is refused
    /// with [`StoreError::Superseded`].
    pub fn decided(
        &self,
        goal: GoalNote,
        after: Option<Moment>,
        decision: Decision,
        (token, now): (Option<u64>, Moment),
    ) -> Ticket<bool> {
        self.job(move |writing| {
            leads(writing, token)?;
            write(writing, &goal, after, &decision, now).map_err(|error| writing.failed(&error))
        })
    }

    /// Pauses a goal, if it is not paused; the answer says whether it was not.
    pub fn pause_goal(&self, goal: &PlanId, why: &str, now: Moment) -> Ticket<bool> {
        let (goal, why) = (goal.clone(), why.to_owned());
        self.sql(move |writing| pause(writing.connection, &goal, &why, now))
    }

    /// Ends the pause of a goal, if it is paused; the answer says whether it was. What was due in
    /// the pause must have been accounted for.
    pub fn resume_goal(&self, goal: &PlanId, now: Moment) -> Ticket<bool> {
        let goal = goal.clone();
        self.sql(move |writing| {
            let sql = "UPDATE goals SET paused = NULL, why = '', resumed = ?2
                       WHERE id = ?1 AND paused IS NOT NULL";
            let values = (goal.as_str(), At(now));
            Ok(writing.connection.execute(sql, values)? > 0)
        })
    }
}

impl Reader {
    /// What is known of a goal; `None` if nobody ever looked at it.
    pub fn known(&self, goal: &PlanId) -> Result<Option<Known>, StoreError> {
        known(self.connection(), goal).map_err(|error| self.failed(&error))
    }

    /// When a goal was last resumed; `None`: never.
    pub fn resumed(&self, goal: &PlanId) -> Result<Option<Moment>, StoreError> {
        let sql = "SELECT resumed FROM goals WHERE id = ?1 AND resumed IS NOT NULL";
        let found = self.rows(sql, [goal.as_str()], |row| row.get::<_, At>(0))?;
        Ok(found.first().map(|at| at.0))
    }

    /// The goals that were ever looked at, by id.
    pub fn goals(&self) -> Result<Vec<GoalRow>, StoreError> {
        let sql = "SELECT id, path, decided, paused, why FROM goals ORDER BY id";
        self.rows(sql, [], |row| {
            let paused: Option<At> = row.get("paused")?;
            let why: String = row.get("why")?;
            Ok(GoalRow {
                id: row.get::<_, Word<_>>("id")?.0,
                path: row.get("path")?,
                decided: row.get::<_, At>("decided")?.0,
                paused: paused.map(|at| (at.0, why)),
            })
        })
    }

    /// The slots of a goal that the ledger knows, from an instant to another, in order; `None`:
    /// without end.
    pub fn slots(
        &self,
        goal: &PlanId,
        (from, to): (Option<Moment>, Option<Moment>),
    ) -> Result<Vec<SlotRow>, StoreError> {
        let sql = "SELECT * FROM slots WHERE goal = ?1 AND last >= ?2 AND slot <= ?3 ORDER BY slot";
        let from = from.map_or(i64::MIN, Moment::millis);
        let to = to.map_or(i64::MAX, Moment::millis);
        self.rows(sql, (goal.as_str(), from, to), slot_row)
    }

    /// The latest slots of a goal that the ledger knows, in order.
    pub fn latest_slots(&self, goal: &PlanId, limit: usize) -> Result<Vec<SlotRow>, StoreError> {
        let sql = "SELECT * FROM slots WHERE goal = ?1 ORDER BY slot DESC LIMIT ?2";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut rows = self.rows(sql, (goal.as_str(), limit), slot_row)?;
        rows.reverse();
        Ok(rows)
    }

    /// How many slots of a goal are in each state.
    pub fn slot_counts(&self, goal: &PlanId) -> Result<Vec<(SlotState, u64)>, StoreError> {
        let sql = "SELECT state, sum(count) AS n FROM slots WHERE goal = ?1 GROUP BY state";
        self.rows(sql, [goal.as_str()], |row| {
            let n: i64 = row.get("n")?;
            Ok((row.get::<_, Word<_>>("state")?.0, n.unsigned_abs()))
        })
    }

    /// The newest token to decide about slots under, and whose it is.
    pub fn leader(&self) -> Result<Option<(u64, u32, Moment)>, StoreError> {
        let sql = "SELECT token, pid, since FROM leaders ORDER BY token DESC LIMIT 1";
        let found = self.rows(sql, [], |row| {
            let token: i64 = row.get(0)?;
            Ok((token.unsigned_abs(), row.get(1)?, row.get::<_, At>(2)?.0))
        })?;
        Ok(found.into_iter().next())
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        all(self.connection(), sql, values, read).map_err(|error| self.failed(&error))
    }
}

/// Refuses to go on under a token that is not the newest.
pub(super) fn leads(writing: &Writing<'_>, token: Option<u64>) -> Result<(), StoreError> {
    let Some(token) = token else { return Ok(()) };
    let sql = "SELECT token, pid FROM leaders ORDER BY token DESC LIMIT 1";
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
    writing: &Writing<'_>,
    goal: &GoalNote,
    after: Option<Moment>,
    decision: &Decision,
    now: Moment,
) -> rusqlite::Result<bool> {
    let connection = writing.connection;
    let sql = "SELECT decided FROM goals WHERE id = ?1";
    let found: Option<At> = connection
        .query_row(sql, [goal.id.as_str()], |row| row.get(0))
        .optional()?;
    if found.map(|at| at.0) != after {
        return Ok(false);
    }
    if after.is_some_and(|after| decision.decided < after) {
        take_back(connection, &goal.id, decision.decided)?;
    }
    connection
        .prepare_cached(
            "INSERT INTO goals (id, path, timing, decided) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET path = excluded.path, timing = excluded.timing,
                 decided = excluded.decided",
        )?
        .execute((
            goal.id.as_str(),
            &goal.path,
            Json(&goal.timing),
            At(decision.decided),
        ))?;
    // Of a slot about which all is decided nothing is decided again.
    let mut put = connection.prepare_cached(
        "INSERT INTO slots (goal, slot, last, count, state, cause, why, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT DO UPDATE SET state = excluded.state,
             why = CASE excluded.why WHEN '' THEN why ELSE excluded.why END
         WHERE state IN ('due', 'queued')",
    )?;
    for row in &decision.rows {
        put.execute((
            goal.id.as_str(),
            At(row.slot),
            At(row.last),
            i64::try_from(row.count).unwrap_or(i64::MAX),
            row.state.as_str(),
            row.cause.as_str(),
            &row.why,
            At(now),
        ))?;
    }
    Ok(true)
}

/// Takes back what a clock that ran ahead left out, as far as it is still to come.
fn take_back(connection: &Connection, goal: &PlanId, decided: Moment) -> rusqlite::Result<()> {
    let sql = "DELETE FROM slots WHERE goal = ?1 AND slot > ?2 AND state IN ('skipped', 'missed')";
    connection.execute(sql, (goal.as_str(), At(decided)))?;
    let Some(timing) = known(connection, goal)?.and_then(|known| known.timing) else {
        return Ok(());
    };
    let sql = "SELECT slot FROM slots WHERE goal = ?1 AND slot <= ?2 AND last > ?2 AND count > 1";
    let values = (goal.as_str(), At(decided));
    for first in all(connection, sql, values, |row| row.get::<_, At>(0))? {
        let (last, count) = cut_off(&timing, first.0, decided);
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let sql = "UPDATE slots SET last = ?3, count = ?4 WHERE goal = ?1 AND slot = ?2";
        connection.execute(sql, (goal.as_str(), first, At(last), count))?;
    }
    Ok(())
}

pub(super) fn pause(
    connection: &Connection,
    goal: &PlanId,
    why: &str,
    now: Moment,
) -> rusqlite::Result<bool> {
    let sql = "UPDATE goals SET paused = ?2, why = ?3 WHERE id = ?1 AND paused IS NULL";
    Ok(connection.execute(sql, (goal.as_str(), At(now), why))? > 0)
}

fn known(connection: &Connection, goal: &PlanId) -> rusqlite::Result<Option<Known>> {
    let sql = "SELECT timing, decided, paused, why FROM goals WHERE id = ?1";
    let head = connection
        .prepare_cached(sql)?
        .query_row([goal.as_str()], |row| {
            let why: String = row.get("why")?;
            let paused: Option<At> = row.get("paused")?;
            Ok(Known {
                timing: serde_json::from_str(&row.get::<_, String>("timing")?).ok(),
                decided: row.get::<_, At>("decided")?.0,
                paused: paused.map(|at| (at.0, why)),
                open: Vec::new(),
                live: Vec::new(),
                begun: Vec::new(),
            })
        })
        .optional()?;
    let Some(mut known) = head else {
        return Ok(None);
    };
    let sql = "SELECT slot, state, cause, at FROM slots
               WHERE goal = ?1 AND state IN ('due', 'queued') ORDER BY slot";
    known.open = all(connection, sql, [goal.as_str()], |row| {
        Ok(Open {
            slot: row.get::<_, At>("slot")?.0,
            state: row.get::<_, Word<_>>("state")?.0,
            cause: row.get::<_, Word<_>>("cause")?.0,
            at: row.get::<_, At>("at")?.0,
        })
    })?;
    let sql = "SELECT slot, run FROM cycles WHERE goal = ?1 AND ended IS NULL ORDER BY slot, run";
    known.live = all(connection, sql, [goal.as_str()], |row| {
        let slot: Option<At> = row.get("slot")?;
        Ok(Live {
            slot: slot.map(|at| at.0),
            run: RunId::from_stored(row.get::<_, String>("run")?),
        })
    })?;
    let sql = "SELECT slot FROM slots WHERE goal = ?1 AND slot > ?2 AND state = 'started'";
    let after = (goal.as_str(), At(known.decided));
    known.begun = all(connection, sql, after, |row| {
        row.get::<_, At>(0).map(|at| at.0)
    })?;
    Ok(Some(known))
}

pub(super) fn slot_row(row: &Row<'_>) -> rusqlite::Result<SlotRow> {
    let count: i64 = row.get("count")?;
    let run: Option<String> = row.get("run")?;
    Ok(SlotRow {
        slot: row.get::<_, At>("slot")?.0,
        last: row.get::<_, At>("last")?.0,
        count: count.unsigned_abs(),
        state: row.get::<_, Word<_>>("state")?.0,
        cause: row.get::<_, Word<_>>("cause")?.0,
        why: row.get("why")?,
        at: row.get::<_, At>("at")?.0,
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
