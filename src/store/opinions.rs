//! What people think of the repairs of goals, and the approvals that they took back.

use rusqlite::Row;

use super::answers::DENIED;
use super::column::{At, Word};
use super::state_event::{self, StateEvent, StateFact, WithdrawnApproval};
use super::{LogPlace, Reader, RunState, Store, StoreError, Ticket, append};
use crate::goal::{Opinion, Withdrawal};
use crate::machine::Outcome;
use crate::name::{PlanId, RunId};
use crate::time::Moment;

/// What somebody said of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// The run that repaired.
    pub run: RunId,
    /// The goal.
    pub goal: PlanId,
    /// What they think.
    pub opinion: Opinion,
    /// In their words; may be empty.
    pub note: String,
    /// Who, by the name of their key; `None`: they have none.
    pub who: Option<String>,
    /// When.
    pub at: Moment,
}

/// A repair of a goal, and what people thought of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairRow {
    /// The run.
    pub run: RunId,
    /// When it was recorded.
    pub at: Moment,
    /// Where it is in its life.
    pub state: RunState,
    /// Whether somebody said no to a question of it, or of a run nested in it.
    pub declined: bool,
    /// The last word about it.
    pub feedback: Option<Feedback>,
}

impl RepairRow {
    /// What people thought: what somebody said of it goes before a no to one of its questions.
    pub fn opinion(&self) -> Option<Opinion> {
        let said = self.feedback.as_ref().map(|said| said.opinion);
        said.or(self.declined.then_some(Opinion::Declined))
    }
}

impl Store {
    /// Records what somebody said of a repair, in the place of what was said before. The answer is
    /// no if the same was said before, by whomever.
    pub fn feedback(&self, said: Feedback) -> Ticket<bool> {
        self.sql(move |writing| {
            let sql = "INSERT INTO feedback (run, goal, opinion, note, who, at)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                       ON CONFLICT DO UPDATE SET opinion = excluded.opinion,
                           note = excluded.note, who = excluded.who, at = excluded.at
                       WHERE (opinion, note) IS NOT (excluded.opinion, excluded.note)";
            let values = (
                said.run.as_str(),
                said.goal.as_str(),
                said.opinion.as_str(),
                &said.note,
                &said.who,
                At(said.at),
            );
            Ok(writing.connection.execute(sql, values)? > 0)
        })
    }

    /// Withdraws a standing approval, once; gives where the log says so, if it did not before.
    pub fn withdraw(&self, withdrawn: WithdrawnApproval) -> Ticket<Option<LogPlace>> {
        self.job(move |writing| {
            let known = state_event::all(writing.connection);
            let known = known.map_err(|error| writing.failed(&error))?;
            let mut known = known.iter().flat_map(|event| event.fact.withdrawals());
            if known.any(|one| one.nonce == withdrawn.nonce) {
                return Ok(None);
            }
            let at = withdrawn.since;
            let fact = StateFact::ApprovalWithdrawn(withdrawn);
            append::add_state_event(writing, &StateEvent { at, fact }).map(Some)
        })
    }
}

impl Reader {
    /// The latest repairs of a goal that are not forgotten, newest first.
    pub fn repairs(&self, goal: &PlanId, limit: usize) -> Result<Vec<RepairRow>, StoreError> {
        self.fold_all()?;
        let sql = "WITH RECURSIVE below (root, id) AS (
                       SELECT repair, repair FROM cycles WHERE goal = ?1 AND repair IS NOT NULL
                       UNION SELECT root, runs.id FROM runs JOIN below ON runs.parent = below.id),
                   declined (root) AS (
                       SELECT root FROM below JOIN answers ON answers.run = below.id
                       WHERE answers.verdict = ?2)
                   SELECT runs.id, runs.created, runs.outcome, feedback.goal, feedback.opinion,
                          feedback.note, feedback.who, feedback.at,
                          runs.id IN (SELECT root FROM declined) AS declined
                   FROM cycles JOIN runs ON runs.id = cycles.repair
                   LEFT JOIN feedback ON feedback.run = runs.id
                   WHERE cycles.goal = ?1 ORDER BY runs.key DESC LIMIT ?3";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.rows(sql, (goal.as_str(), DENIED, limit), repair)
    }

    /// The standing approvals of a goal that were withdrawn.
    pub fn withdrawals(&self, goal: &PlanId) -> Result<Vec<Withdrawal>, StoreError> {
        self.fold_heads()?;
        let sql = "SELECT nonce, at FROM withdrawn WHERE goal = ?1 ORDER BY at, nonce";
        self.rows(sql, [goal.as_str()], |row| {
            Ok(Withdrawal {
                nonce: row.get("nonce")?,
                at: row.get::<_, At>("at")?.0,
            })
        })
    }
}

fn repair(row: &Row<'_>) -> rusqlite::Result<RepairRow> {
    let run = RunId::from_stored(row.get::<_, String>(0)?);
    let outcome: Option<Word<Outcome>> = row.get(2)?;
    let opinion: Option<Word<Opinion>> = row.get(4)?;
    let feedback = match opinion {
        None => None,
        Some(Word(opinion)) => Some(Feedback {
            run: run.clone(),
            goal: row.get::<_, Word<_>>(3)?.0,
            opinion,
            note: row.get(5)?,
            who: row.get(6)?,
            at: row.get::<_, At>(7)?.0,
        }),
    };
    Ok(RepairRow {
        run,
        at: row.get::<_, At>(1)?.0,
        state: outcome.map_or(RunState::Running, |outcome| RunState::Ended(outcome.0)),
        declined: row.get(8)?,
        feedback,
    })
}
