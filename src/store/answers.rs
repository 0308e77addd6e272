use rusqlite::Connection;

use super::writer::Writing;
use super::{StoreError, uses};
use crate::digest::Digest;
use crate::machine::Approved;
use crate::name::RunId;
use crate::time::Moment;

/// What somebody answered to a question of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The run.
    pub run: RunId,
    /// The number of the question in it.
    pub number: u32,
    /// The key that signed.
    pub key: Digest,
    /// The word for what was decided.
    pub verdict: String,
    /// What was signed: a token as text.
    pub token: String,
    /// When it was recorded.
    pub at: Moment,
    /// How much is a yes already, so that a no comes too late.
    pub enough: Enough,
}

/// How many answers of which keys are enough for a yes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enough {
    /// How many.
    pub count: usize,
    /// The keys that count.
    pub keys: Vec<Digest>,
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is recorded.
    New,
    /// The same was answered with the same key before; that stays.
    Before,
}

/// The word for a no.
pub const DENIED: &str = "denied";

/// Records an answer. The same again changes nothing; another one of the same key, or a yes after
/// a no of anybody, or a no after a yes that was enough, is refused with [`StoreError::Conflict`]:
/// of two at once, one stands.
pub(super) fn put(writing: &Writing<'_>, answer: &Answer) -> Result<Taken, StoreError> {
    let all = of(writing.connection, &answer.run, answer.number);
    let all = all.map_err(|error| writing.failed(&error))?;
    if let Some(same) = all.iter().find(|one| one.key == answer.key) {
        return if same.verdict == answer.verdict {
            Ok(Taken::Before)
        } else {
            Err(conflict(answer, same))
        };
    }
    let no = all.iter().find(|one| one.verdict == DENIED);
    if let Some(no) = no.filter(|_| answer.verdict != DENIED) {
        return Err(conflict(answer, no));
    }
    let Enough { count, keys } = &answer.enough;
    let yes: Vec<&Answer> = all.iter().filter(|one| keys.contains(&one.key)).collect();
    if let Some(last) = yes.last()
        && answer.verdict == DENIED
        && no.is_none()
        && yes.len() >= *count
    {
        return Err(conflict(answer, last));
    }
    let put = writing.connection.execute(
        "INSERT INTO answers (run, number, key, verdict, token, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        (
            answer.run.as_str(),
            answer.number,
            answer.key.to_string(),
            &answer.verdict,
            &answer.token,
            answer.at.millis(),
        ),
    );
    put.map(|_| Taken::New)
        .map_err(|error| writing.failed(&error))
}

fn conflict(answer: &Answer, there: &Answer) -> StoreError {
    StoreError::Conflict {
        run: answer.run.clone(),
        number: answer.number,
        verdict: there.verdict.clone(),
    }
}

/// The answers to a question, by key.
pub(super) fn of(
    connection: &Connection,
    run: &RunId,
    number: u32,
) -> rusqlite::Result<Vec<Answer>> {
    let sql = "SELECT key, verdict, token, at FROM answers WHERE run = ?1 AND number = ?2
               ORDER BY key";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((run.as_str(), number), |row| {
        let key: String = row.get(0)?;
        Ok(Answer {
            run: run.clone(),
            number,
            key: key.parse().unwrap_or_else(|_| Digest::of(b"")),
            verdict: row.get(1)?,
            token: row.get(2)?,
            at: Moment::from_millis(row.get(3)?),
            enough: Enough::default(),
        })
    })?;
    rows.collect()
}

/// Refuses a use of an approval that the log records already, or that was withdrawn.
pub(super) fn may_use(writing: &Writing<'_>, approved: &Approved) -> Result<(), StoreError> {
    let failed = |error| writing.failed(&error);
    if !uses::is_for_more(approved) {
        return Ok(());
    }
    let used = uses::of(writing.connection, &approved.nonce).map_err(failed)?;
    let path = writing.writer.path.clone();
    let used = used.map_err(|broken| StoreError::Broken { path, broken })?;
    if used.is_withdrawn {
        return Err(StoreError::Withdrawn);
    }
    if used.numbers.contains(&approved.execution) {
        return Err(StoreError::UsedUp {
            execution: approved.execution,
            executions: approved.executions,
        });
    }
    Ok(())
}
