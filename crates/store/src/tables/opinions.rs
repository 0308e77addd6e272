//! The feedback on repairs of goals.

use rusqlite::Row;

use crate::{
    column::{MomentColumn, RowColumns, integer},
    db::{reader::StoreReader, store::Store, ticket::WriteTicket},
    error::StoreError,
    tables::{answers::DENIED, reconciliations::ReconciliationTable},
    views::view::RunState,
};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::{goal::RepairOpinion, machine::RunOutcome};

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

impl ReconciliationTable<&Store> {
    /// Records feedback on a repair, replacing earlier feedback. Returns false if the same feedback
    /// was given before, by any user.
    pub fn give_feedback(self, feedback: RepairFeedback) -> WriteTicket<bool> {
        self.0.row_job(feedback.at, move |writing| {
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
            Ok(writing.connection.execute(sql, values)? > 0)
        })
    }
}

impl ReconciliationTable<&StoreReader> {
    /// Returns the latest repairs of a goal not pruned, newest first.
    pub fn repairs(self, goal: &PlanId, limit: usize) -> Result<Vec<RepairRow>, StoreError> {
        self.0.fold_runs(
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
        self.0.folded_rows(sql, (goal.as_str(), DENIED, integer(limit)), repair)
    }
}

fn repair(row: &Row<'_>) -> rusqlite::Result<RepairRow> {
    let run = row.run(0)?;
    let outcome: Option<RunOutcome> = row.word_if(2)?;
    let feedback = match row.word_if(4)? {
        None => None,
        Some(opinion) => Some(RepairFeedback {
            run: run.clone(),
            goal: row.word(3)?,
            opinion,
            note: row.get(5)?,
            who: row.get(6)?,
            at: row.moment(7)?,
        }),
    };
    Ok(RepairRow {
        run,
        at: row.moment(1)?,
        state: outcome.map_or(RunState::Running, RunState::Ended),
        declined: row.get(8)?,
        feedback,
    })
}
