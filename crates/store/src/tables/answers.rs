use rusqlite::Connection;

use crate::{
    db::{reader::StoreReader, store::Store, ticket::WriteTicket, writer::WriteContext},
    error::StoreError,
    projections::uses,
};
use wf_base::{digest::Sha256Digest, name::RunId, time::Moment};
use wf_core::machine::RunApproval;

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

impl Store {
    /// Records an answer to a question of a run.
    pub fn answer(&self, answer: ApprovalAnswer) -> WriteTicket<AnswerEffect> {
        self.job(move |writing| record_answer(writing, &answer))
    }
}

impl StoreReader {
    /// Returns the answers to a question of a run, by key.
    pub fn answers(&self, run: &RunId, number: u32) -> Result<Vec<ApprovalAnswer>, StoreError> {
        read_answers(self.connection(), run, number).map_err(|error| self.failed(&error))
    }

    /// Returns the number of the last use of an approval in the log; 0 if it was never used.
    pub fn last_use_of(&self, nonce: &str) -> Result<u32, StoreError> {
        let used = uses::read_uses(self.connection(), nonce).map_err(|error| self.failed(&error))?;
        let used = used.map_err(|broken| self.broken(broken))?;
        Ok(used.numbers.last().copied().unwrap_or(0))
    }
}

/// Records an answer. Repeating the same answer changes nothing. Another answer of the same key, an approval after any
/// denial, a denial after enough approvals, or an answer not compared with those before is refused with
/// [`StoreError::Conflict`]: of two concurrent answers, one stands.
fn record_answer(writing: &WriteContext<'_>, answer: &ApprovalAnswer) -> Result<AnswerEffect, StoreError> {
    let all = read_answers(writing.connection, &answer.run, answer.number);
    let all = all.map_err(|error| writing.failed(&error))?;
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
    let put = writing.connection.execute(
        "INSERT INTO approval_responses (run, number, key, verdict, token, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        (
            answer.run.as_str(),
            answer.number,
            answer.key.to_string(),
            &answer.verdict,
            &answer.token,
            answer.at.millis(),
        ),
    );
    put.map(|_| AnswerEffect::Recorded).map_err(|error| writing.failed(&error))
}

fn conflict(answer: &ApprovalAnswer, recorded_answer: &ApprovalAnswer) -> StoreError {
    StoreError::Conflict {
        run: answer.run.clone(),
        number: answer.number,
        verdict: recorded_answer.verdict.clone(),
    }
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
) -> Result<(), StoreError> {
    let failed = |error| writing.failed(&error);
    if !uses::is_reusable(approved) {
        return Ok(());
    }
    let used = uses::read_uses(writing.connection, &approved.nonce).map_err(failed)?;
    let path = writing.writer.path.clone();
    let used = used.map_err(|broken| StoreError::Broken { path, broken })?;
    if used.is_withdrawn && !is_by_backend {
        return Err(StoreError::Withdrawn);
    }
    if used.numbers.contains(&approved.execution) {
        return Err(StoreError::UsedUp { execution: approved.execution, executions: approved.executions });
    }
    Ok(())
}
