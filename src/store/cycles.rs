//! The cycles of goals, and what people are to be told of them.

use rusqlite::{Connection, OptionalExtension, Row};

use super::column::{At, Json, Word};
use super::writer::Writing;
use super::{Reader, Store, StoreError, Ticket, goals};
use crate::goal::{Cause, Health, Verdict};
use crate::name::{PlanId, RunId};
use crate::time::Moment;
use serde_json::Value;

/// What a run is begun for, where it belongs to a goal: recorded together with the run, or the run
/// is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The first run of a cycle.
    Look {
        /// The goal.
        goal: PlanId,
        /// The slot, which must be due; `None`: somebody asked for it.
        slot: Option<Moment>,
        /// What it is begun for.
        cause: Cause,
        /// The token of who decided about the slot, if a daemon did.
        token: Option<u64>,
    },
    /// The repair of a cycle.
    Repair {
        /// The first run of the cycle.
        cycle: RunId,
    },
}

/// A cycle of a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CycleRow {
    /// Its first run: the look.
    pub run: RunId,
    /// The goal.
    pub goal: PlanId,
    /// The slot that it was begun for.
    pub slot: Option<Moment>,
    /// What it was begun for.
    pub cause: Cause,
    /// When it began.
    pub began: Moment,
    /// The run that repairs, if there is one.
    pub repair: Option<RunId>,
    /// When it ended, how the goal was, and why.
    pub ended: Option<(Moment, Health, String)>,
}

/// How a cycle ended, and what follows from it at once.
#[derive(Clone, Debug, PartialEq)]
pub struct CycleEnd {
    /// Its first run.
    pub run: RunId,
    /// How it ended.
    pub verdict: Verdict,
    /// When.
    pub at: Moment,
    /// Why the goal pauses now, if it does.
    pub pause: Option<String>,
    /// What people are to be told.
    pub notices: Vec<Value>,
}

/// Something that people are still to be told.
#[derive(Clone, Debug, PartialEq)]
pub struct NoticeRow {
    /// Its number.
    pub id: u64,
    /// The goal.
    pub goal: PlanId,
    /// What is told, and how.
    pub body: Value,
    /// Since when.
    pub at: Moment,
    /// How often it was tried.
    pub tries: u32,
}

impl Store {
    /// Records the end of a cycle, once: a second end changes nothing, and the answer is no. Only
    /// one that waited for people may end anew.
    pub fn end_cycle(&self, end: CycleEnd) -> Ticket<bool> {
        self.sql(move |writing| {
            let connection = writing.connection;
            let sql = "UPDATE cycles SET ended = ?2, health = ?3, why = ?4
                       WHERE run = ?1 AND (ended IS NULL OR health = 'waiting') RETURNING goal";
            let values = (
                end.run.as_str(),
                At(end.at),
                end.verdict.health.as_str(),
                &end.verdict.why,
            );
            let goal: Option<Word<PlanId>> = connection
                .query_row(sql, values, |row| row.get(0))
                .optional()?;
            let Some(Word(goal)) = goal else {
                return Ok(false);
            };
            if let Some(why) = &end.pause {
                goals::pause(connection, &goal, why, end.at)?;
            }
            for body in &end.notices {
                tell(connection, &goal, body, end.at)?;
            }
            Ok(true)
        })
    }

    /// Skips a slot that was to begin and may not, and notes what people are to be told: once, as
    /// long as the slots before it were skipped for the same reason.
    pub fn leave_out(
        &self,
        goal: &PlanId,
        (slot, token): (Moment, Option<u64>),
        why: &str,
        (notices, now): (Vec<Value>, Moment),
    ) -> Ticket<bool> {
        let (goal, why) = (goal.clone(), why.to_owned());
        self.job(move |writing| {
            goals::leads(writing, token)?;
            let failed = |error| writing.failed(&error);
            let connection = writing.connection;
            let sql = "SELECT why FROM slots WHERE goal = ?1 AND slot < ?2
                       AND state IN ('started', 'skipped') ORDER BY slot DESC LIMIT 1";
            let before: Option<String> = connection
                .query_row(sql, (goal.as_str(), At(slot)), |row| row.get(0))
                .optional()
                .map_err(failed)?;
            let sql = "UPDATE slots SET state = 'skipped', why = ?3
                       WHERE goal = ?1 AND slot = ?2 AND state IN ('due', 'queued')";
            let values = (goal.as_str(), At(slot), &why);
            let changed = connection.execute(sql, values).map_err(failed)?;
            if changed > 0 && before.as_ref() != Some(&why) {
                for body in &notices {
                    tell(connection, &goal, body, now).map_err(failed)?;
                }
            }
            Ok(changed > 0)
        })
    }

    /// Notes what people are to be told about a goal.
    pub fn tell(&self, goal: &PlanId, body: Value, now: Moment) -> Ticket<()> {
        let goal = goal.clone();
        self.sql(move |writing| tell(writing.connection, &goal, &body, now))
    }

    /// Notes that people were told, or with an error that it was tried; `last`: for the last time.
    pub fn told(&self, id: u64, error: Option<String>, last: bool, now: Moment) -> Ticket<()> {
        self.sql(move |writing| {
            let sql = "UPDATE notices SET tries = tries + 1, error = ?2,
                           sent = CASE WHEN ?3 THEN ?4 END WHERE id = ?1 AND sent IS NULL";
            let done = error.is_none() || last;
            let id = i64::try_from(id).unwrap_or(i64::MAX);
            writing
                .connection
                .execute(sql, (id, error, done, At(now)))
                .map(drop)
        })
    }
}

impl Reader {
    /// A cycle by its first run.
    pub fn cycle(&self, run: &RunId) -> Result<Option<CycleRow>, StoreError> {
        let found = self.rows("SELECT * FROM cycles WHERE run = ?1", [run.as_str()], cycle)?;
        Ok(found.into_iter().next())
    }

    /// The latest cycles of a goal that have ended, newest first.
    pub fn cycles(&self, goal: &PlanId, limit: usize) -> Result<Vec<CycleRow>, StoreError> {
        let sql = "SELECT * FROM cycles WHERE goal = ?1 ORDER BY began DESC, run DESC LIMIT ?2";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.rows(sql, (goal.as_str(), limit), cycle)
    }

    /// How many cycles of a goal ended how.
    pub fn cycle_counts(&self, goal: &PlanId) -> Result<Vec<(Health, u64)>, StoreError> {
        let sql = "SELECT health, count(*) AS n FROM cycles
                   WHERE goal = ?1 AND health IS NOT NULL GROUP BY health";
        self.rows(sql, [goal.as_str()], |row| {
            let n: i64 = row.get("n")?;
            Ok((row.get::<_, Word<_>>("health")?.0, n.unsigned_abs()))
        })
    }

    /// The cycles of all goals that have not ended, oldest first.
    pub fn live_cycles(&self) -> Result<Vec<CycleRow>, StoreError> {
        let sql = "SELECT * FROM cycles WHERE ended IS NULL ORDER BY began, run";
        self.rows(sql, [], cycle)
    }

    /// The cycles that ended because a run of theirs waited for people, oldest first: that run has
    /// not ended, or ended since. Those that wait for an approval are none of them.
    pub fn waiting_cycles(&self) -> Result<Vec<CycleRow>, StoreError> {
        let sql = "SELECT cycles.* FROM cycles
                   JOIN runs ON runs.id = coalesce(cycles.repair, cycles.run)
                   WHERE cycles.health = 'waiting' AND (cycles.repair IS NOT NULL
                       OR runs.outcome IS NULL OR runs.ended > cycles.ended)
                   ORDER BY cycles.began, cycles.run";
        self.rows(sql, [], cycle)
    }

    /// What people are still to be told, oldest first.
    pub fn notices(&self) -> Result<Vec<NoticeRow>, StoreError> {
        let sql = "SELECT id, goal, body, at, tries FROM notices WHERE sent IS NULL ORDER BY id";
        self.rows(sql, [], |row| {
            let id: i64 = row.get("id")?;
            Ok(NoticeRow {
                id: id.unsigned_abs(),
                goal: row.get::<_, Word<_>>("goal")?.0,
                body: row.get::<_, Json<_>>("body")?.0,
                at: row.get::<_, At>("at")?.0,
                tries: row.get("tries")?,
            })
        })
    }
}

/// Records what a run is begun for. Refused with [`StoreError::NotDue`] where its slot is not due,
/// or with [`StoreError::NotOpen`] where its cycle has a repair already, has ended, or another repair
/// of the goal goes on.
pub(super) fn claim(
    writing: &Writing<'_>,
    run: &RunId,
    claim: &Claim,
    now: Moment,
) -> Result<(), StoreError> {
    let failed = |error| writing.failed(&error);
    match claim {
        Claim::Look {
            goal,
            slot,
            cause,
            token,
        } => {
            goals::leads(writing, *token)?;
            if let Some(slot) = slot {
                start(writing.connection, run, goal, *slot)
                    .map_err(failed)?
                    .ok_or_else(|| StoreError::NotDue {
                        goal: goal.to_string(),
                        slot: *slot,
                    })?;
            }
            writing
                .connection
                .prepare_cached(
                    "INSERT INTO cycles (run, goal, slot, cause, began) VALUES (?1, ?2, ?3, ?4, ?5)",
                )
                .and_then(|mut put| {
                    let (slot, began) = (slot.map(At), At(now));
                    put.execute((run.as_str(), goal.as_str(), slot, cause.as_str(), began))
                })
                .map(drop)
                .map_err(failed)
        }
        Claim::Repair { cycle } => {
            // A look that waited for people may be answered after its cycle ended. Two repairs of
            // one goal at once would undo each other.
            let sql = "UPDATE cycles SET repair = ?2
                       WHERE run = ?1 AND repair IS NULL AND (ended IS NULL OR health = 'waiting')
                       AND NOT EXISTS (SELECT 1 FROM cycles AS other
                           JOIN runs ON runs.id = other.repair
                           WHERE other.goal = cycles.goal AND other.run <> cycles.run
                               AND runs.outcome IS NULL)";
            let changed = writing
                .connection
                .execute(sql, (cycle.as_str(), run.as_str()));
            match changed.map_err(failed)? {
                0 => Err(StoreError::NotOpen(cycle.clone())),
                _ => Ok(()),
            }
        }
    }
}

/// Turns a slot that is due into one that was begun; `None` if it is not due.
fn start(
    connection: &Connection,
    run: &RunId,
    goal: &PlanId,
    slot: Moment,
) -> rusqlite::Result<Option<()>> {
    let sql = "UPDATE slots SET state = 'started', run = ?3
               WHERE goal = ?1 AND slot = ?2 AND state IN ('due', 'queued')";
    let changed = connection.execute(sql, (goal.as_str(), At(slot), run.as_str()))?;
    Ok((changed > 0).then_some(()))
}

fn tell(connection: &Connection, goal: &PlanId, body: &Value, now: Moment) -> rusqlite::Result<()> {
    let sql = "INSERT INTO notices (goal, body, at) VALUES (?1, ?2, ?3)";
    connection
        .execute(sql, (goal.as_str(), Json(body), At(now)))
        .map(drop)
}

fn cycle(row: &Row<'_>) -> rusqlite::Result<CycleRow> {
    let text = |name| row.get::<_, Option<String>>(name);
    let ended: Option<At> = row.get("ended")?;
    let health: Option<Word<Health>> = row.get("health")?;
    let why: String = row.get("why")?;
    Ok(CycleRow {
        run: RunId::from_stored(row.get::<_, String>("run")?),
        goal: row.get::<_, Word<_>>("goal")?.0,
        slot: row.get::<_, Option<At>>("slot")?.map(|at| at.0),
        cause: row.get::<_, Word<_>>("cause")?.0,
        began: row.get::<_, At>("began")?.0,
        repair: text("repair")?.map(RunId::from_stored),
        ended: ended.zip(health).map(|(at, health)| (at.0, health.0, why)),
    })
}
