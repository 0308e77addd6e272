//! The feedback on repairs of goals, and the withdrawals of approvals.

use rusqlite::Row;

use crate::{
    column::{MomentColumn, WordColumn},
    db::{reader::StoreReader, store::Store, ticket::WriteTicket},
    error::StoreError,
    events::run_events,
    log::{
        state_event,
        state_event::{StateEvent, StateFact, WithdrawnApproval},
        tail::LogPosition,
    },
    tables::answers::DENIED,
    views::view::RunState,
};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::{
    goal::{ApprovalWithdrawal, RepairOpinion},
    machine::RunOutcome,
};

/// The feedback of a user on a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairFeedback {
    pub run: RunId,
    pub goal: PlanId,
    pub opinion: RepairOpinion,
    /// The user's note; may be empty.
    pub note: String,
    /// The user, by the name of their key; `None`: they have none.
    pub who: Option<String>,
    pub at: Moment,
}

/// A repair of a goal, with the feedback on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairRow {
    pub run: RunId,
    /// The time it was recorded.
    pub at: Moment,
    pub state: RunState,
    /// True if the user denied a question of the run, or of a run nested in it.
    pub declined: bool,
    /// The latest feedback.
    pub feedback: Option<RepairFeedback>,
}

impl RepairRow {
    /// Returns the opinion: feedback takes precedence over a denied question.
    pub fn opinion(&self) -> Option<RepairOpinion> {
        let said = self.feedback.as_ref().map(|said| said.opinion);
        said.or(self.declined.then_some(RepairOpinion::Declined))
    }
}

impl Store {
    /// Records feedback on a repair, replacing earlier feedback. Returns false if the same feedback
    /// was given before, by any user.
    pub fn feedback(&self, feedback: RepairFeedback) -> WriteTicket<bool> {
        self.row_job(feedback.at, move |writing| {
            let sql = "INSERT INTO feedback (run, goal, opinion, note, who, at)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                       ON CONFLICT DO UPDATE SET opinion = excluded.opinion,
                           note = excluded.note, who = excluded.who, at = excluded.at
                       WHERE (opinion, note) IS NOT (excluded.opinion, excluded.note)";
            let values = (
                feedback.run.as_str(),
                feedback.goal.as_str(),
                feedback.opinion.as_str(),
                &feedback.note,
                &feedback.who,
                MomentColumn(feedback.at),
            );
            let changed = writing.connection.execute(sql, values);
            changed.map(|changed| changed > 0).map_err(|error| writing.failed(&error))
        })
    }

    /// Withdraws a standing approval; returns the position in the log, unless already withdrawn.
    pub fn withdraw(&self, withdrawn: WithdrawnApproval) -> WriteTicket<Option<LogPosition>> {
        self.job(move |writing| {
            let known = state_event::all(writing.connection);
            let known = known.map_err(|error| writing.failed(&error))?;
            let mut known = known.iter().flat_map(|event| event.fact.withdrawals());
            if known.any(|one| one.nonce == withdrawn.nonce) {
                return Ok(None);
            }
            let at = withdrawn.since;
            let fact = StateFact::ApprovalWithdrawn(withdrawn);
            run_events::add_state_event(writing, &StateEvent { at, fact }).map(Some)
        })
    }
}

impl StoreReader {
    /// Returns the latest repairs of a goal not pruned, newest first.
    pub fn repairs(&self, goal: &PlanId, limit: usize) -> Result<Vec<RepairRow>, StoreError> {
        self.fold_runs(
            "SELECT repair_run FROM reconciliations WHERE goal = ?1 AND repair_run IS NOT NULL",
            [goal.as_str()],
        )?;
        let sql = "WITH RECURSIVE below (root, id) AS (
                       SELECT repair_run, repair_run FROM reconciliations WHERE goal = ?1 AND repair_run IS NOT NULL
                       UNION SELECT root, runs.id FROM runs JOIN below ON runs.parent = below.id),
                   declined (root) AS (
                       SELECT root FROM below JOIN approval_responses ON approval_responses.run = below.id
                       WHERE approval_responses.verdict = ?2)
                   SELECT runs.id, runs.created, runs.outcome, feedback.goal, feedback.opinion,
                          feedback.note, feedback.who, feedback.at,
                          runs.id IN (SELECT root FROM declined) AS declined
                   FROM reconciliations JOIN runs ON runs.id = reconciliations.repair_run
                   LEFT JOIN feedback ON feedback.run = runs.id
                   WHERE reconciliations.goal = ?1 ORDER BY runs.key DESC LIMIT ?3";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.folded_rows(sql, (goal.as_str(), DENIED, limit), repair)
    }

    /// Returns the withdrawn standing approvals of a goal.
    pub fn withdrawals(&self, goal: &PlanId) -> Result<Vec<ApprovalWithdrawal>, StoreError> {
        self.fold_heads()?;
        let sql = "SELECT nonce, at FROM revoked_approvals WHERE goal = ?1 ORDER BY at, nonce";
        self.rows(sql, [goal.as_str()], |row| {
            Ok(ApprovalWithdrawal { nonce: row.get("nonce")?, at: row.get::<_, MomentColumn>("at")?.0 })
        })
    }
}

fn repair(row: &Row<'_>) -> rusqlite::Result<RepairRow> {
    let run = RunId::from_stored(row.get::<_, String>(0)?);
    let outcome: Option<WordColumn<RunOutcome>> = row.get(2)?;
    let opinion: Option<WordColumn<RepairOpinion>> = row.get(4)?;
    let feedback = match opinion {
        None => None,
        Some(WordColumn(opinion)) => Some(RepairFeedback {
            run: run.clone(),
            goal: row.get::<_, WordColumn<_>>(3)?.0,
            opinion,
            note: row.get(5)?,
            who: row.get(6)?,
            at: row.get::<_, MomentColumn>(7)?.0,
        }),
    };
    Ok(RepairRow {
        run,
        at: row.get::<_, MomentColumn>(1)?.0,
        state: outcome.map_or(RunState::Running, |outcome| RunState::Ended(outcome.0)),
        declined: row.get(8)?,
        feedback,
    })
}
