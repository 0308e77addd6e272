//! The answers to questions of runs, and the uses and withdrawals of approvals.

use rusqlite::Connection;

use crate::{
    column::RowColumns,
    db::{reader::StoreReader, store::Store, ticket::WriteTicket, writer::WriteContext},
    error::{QueryError, QueryResult, StoreError},
    events::run_events,
    log::{
        state_event,
        state_event::{StateEvent, StateFact, WithdrawnApproval},
        tail::LogPosition,
    },
    projections::uses,
};
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::{goal::ApprovalWithdrawal, machine::RunApproval};

/// The answer of one approver to a question of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalAnswer {
    /// The run that asked.
    pub run: RunId,
    /// The number of the question in the run.
    pub number: u32,
    /// The key that signed.
    pub key: Sha256Digest,
    /// The decision, in one word.
    pub verdict: String,
    /// The signed token, as text.
    pub token: String,
    /// The time the answer was recorded.
    pub at: Moment,
    /// The number of approvals that settles the question, so a later denial is refused.
    pub quorum: AnswerQuorum,
}

/// The number of answers, and the keys they may come from, that make an approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerQuorum {
    /// The number of answers needed.
    pub count: usize,
    /// The keys that count.
    pub keys: Vec<Sha256Digest>,
    /// The number of answers before, if the new one has to agree with them: another one since is a conflict.
    pub compared: Option<usize>,
}

/// The effect of recording an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerEffect {
    Recorded,
    /// The same key gave the same answer before; that one stays.
    AlreadyRecorded,
}

/// The word for a denial.
pub const DENIED: &str = "denied";

/// The tables of approvals: `approval_responses`, and the uses and withdrawals the log records.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalTable<S>(pub(crate) S);

impl ApprovalTable<&Store> {
    /// Records an answer to a question of a run.
    pub fn answer(self, answer: ApprovalAnswer) -> WriteTicket<AnswerEffect> {
        self.0.job(move |writing| record_answer(writing, &answer))
    }

    /// Withdraws a standing approval; returns the position in the log, unless already withdrawn.
    pub fn withdraw(self, withdrawn: WithdrawnApproval) -> WriteTicket<Option<LogPosition>> {
        self.0.job(move |writing| {
            let known = state_event::all(writing.connection)?;
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

impl ApprovalTable<&StoreReader> {
    /// Returns the answers to a question of a run, by key.
    pub fn answers(self, run: &RunId, number: u32) -> Result<Vec<ApprovalAnswer>, StoreError> {
        self.0.query(|connection| read_answers(connection, run, number))
    }

    /// Returns the number of answers to all questions.
    pub fn answer_count(self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM approval_responses";
        let count: Option<i64> = self.0.query_one(sql, (), |row| row.get(0))?;
        Ok(count.unwrap_or_default().unsigned_abs())
    }

    /// Returns the number of the last use of an approval in the log; 0 if it was never used.
    pub fn last_use(self, nonce: &str) -> Result<u32, StoreError> {
        let used = self.0.query(|connection| uses::read_uses(connection, nonce))?;
        Ok(used.numbers.last().copied().unwrap_or(0))
    }

    /// Returns the withdrawn standing approvals of a goal.
    pub fn withdrawals(self, goal: &PlanId) -> Result<Vec<ApprovalWithdrawal>, StoreError> {
        self.0.fold_heads()?;
        let sql = "SELECT nonce, at FROM revoked_approvals WHERE goal = ?1 ORDER BY at, nonce";
        self.0.all(sql, [goal.as_str()], |row| {
            Ok(ApprovalWithdrawal { nonce: row.get("nonce")?, at: row.moment("at")? })
        })
    }
}

/// Records an answer. Repeating the same answer changes nothing. Another answer of the same key, an approval after any
/// denial, a denial after enough approvals, or an answer not compared with those before is refused with
/// [`StoreError::Conflict`]: of two concurrent answers, one stands.
fn record_answer(writing: &WriteContext<'_>, answer: &ApprovalAnswer) -> QueryResult<AnswerEffect> {
    let all = read_answers(writing.connection, &answer.run, answer.number)?;
    let compared = answer.quorum.compared.unwrap_or(all.len());
    if let Some(new) = all.last().filter(|_| all.len() != compared) {
        return Err(conflict(answer, new));
    }
    if let Some(same) = all.iter().find(|one| one.key == answer.key) {
        return if same.verdict == answer.verdict {
            Ok(AnswerEffect::AlreadyRecorded)
        } else {
            Err(conflict(answer, same))
        };
    }
    let no = all.iter().find(|one| one.verdict == DENIED);
    if let Some(no) = no.filter(|_| answer.verdict != DENIED) {
        return Err(conflict(answer, no));
    }
    let AnswerQuorum { count, keys, .. } = &answer.quorum;
    let new_answer: Vec<&ApprovalAnswer> = all.iter().filter(|one| keys.contains(&one.key)).collect();
    if let Some(last) = new_answer.last()
        && answer.verdict == DENIED
        && no.is_none()
        && new_answer.len() >= *count
    {
        return Err(conflict(answer, last));
    }
    writing.connection.execute(
        "INSERT INTO approval_responses (run, number, key, verdict, token, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        (
            answer.run.as_str(),
            answer.number,
            answer.key.to_string(),
            &answer.verdict,
            &answer.token,
            answer.at.millis(),
        ),
    )?;
    Ok(AnswerEffect::Recorded)
}

fn conflict(answer: &ApprovalAnswer, recorded_answer: &ApprovalAnswer) -> QueryError {
    StoreError::Conflict {
        run: answer.run.clone(),
        number: answer.number,
        verdict: recorded_answer.verdict.clone(),
    }
    .into()
}

/// Returns the answers to a question, the first one first.
fn read_answers(connection: &Connection, run: &RunId, number: u32) -> rusqlite::Result<Vec<ApprovalAnswer>> {
    let sql = "SELECT key, verdict, token, at FROM approval_responses WHERE run = ?1 AND number = ?2
               ORDER BY at, key";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((run.as_str(), number), |row| {
        let key: String = row.get(0)?;
        Ok(ApprovalAnswer {
            run: run.clone(),
            number,
            key: key.parse().unwrap_or_else(|_| Sha256Digest::of_bytes(b"")),
            verdict: row.get(1)?,
            token: row.get(2)?,
            at: Moment::from_millis(row.get(3)?),
            quorum: AnswerQuorum::default(),
        })
    })?;
    rows.collect()
}

/// Refuses a use of an approval the log already records, or that was withdrawn. `is_by_backend`: the run began there
/// before the backend learned of a withdrawal.
pub(super) fn check_approval_unused(
    writing: &WriteContext<'_>,
    approved: &RunApproval,
    is_by_backend: bool,
) -> QueryResult<()> {
    if !uses::is_reusable(approved) {
        return Ok(());
    }
    let used = uses::read_uses(writing.connection, &approved.nonce)?;
    if used.is_withdrawn && !is_by_backend {
        return Err(StoreError::Withdrawn.into());
    }
    if used.numbers.contains(&approved.execution) {
        return Err(
            StoreError::UsedUp { execution: approved.execution, executions: approved.executions }.into()
        );
    }
    Ok(())
}
