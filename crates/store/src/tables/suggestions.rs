//! The suggestions of runs: kept in the transaction recording the end of the run, and accepted in the one recording the
//! run they start. The configuration of that run names the suggestion.

use rusqlite::{Connection, Row};
use serde_json::Value;

use crate::{
    column::{JsonColumn, MomentColumn, RowColumns},
    db::{reader::StoreReader, store::Store, ticket::WriteTicket, writer::WriteContext},
    error::{QueryResult, StoreError},
    projections::row_log,
    query,
    tables::batch::NewRun,
};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::suggestion::{
    Suggestion, SuggestionOffer, SuggestionRecord, SuggestionRefusal, SuggestionState, admit,
};

/// The key of the configuration of a run naming the suggestion by which it was started.
pub const SUGGESTION: &str = "suggestion";

const COLUMNS: &str = "number, run, plan, title, why, path, params, state, since, changed, started";

/// Keeps what may be kept of the suggestions of a run.
pub(crate) fn keep(
    writing: &WriteContext<'_>,
    run: &RunId,
    offer: &SuggestionOffer,
    now: Moment,
) -> QueryResult<()> {
    row_log::change(writing, now, || {
        let sql = "SELECT plan FROM runs WHERE id = ?1";
        let plan: PlanId = writing.connection.query_row(sql, [run.as_str()], |row| row.word(0))?;
        let mut kept = all(writing.connection)?;
        for suggestion in &offer.suggestions {
            if admit(&kept, suggestion, &offer.limits, now).is_err() {
                continue;
            }
            let record = SuggestionRecord {
                number: kept.last().map_or(0, |last| last.number) + 1,
                run: run.clone(),
                plan: plan.clone(),
                suggestion: suggestion.clone(),
                state: SuggestionState::Pending,
                since: now,
                changed: now,
                started: None,
            };
            put(writing.connection, &record)?;
            kept.push(record);
        }
        Ok(())
    })
}

/// Accepts the suggestion by which a new run is started, if it is.
pub(super) fn accept(writing: &WriteContext<'_>, run: &RunId, new: &NewRun) -> QueryResult<()> {
    let Some(number) = new.config.get(SUGGESTION).and_then(Value::as_u64) else {
        return Ok(());
    };
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    row_log::change(writing, new.created, || {
        let accepted = |suggestion: SuggestionRecord| suggestion.accept(run.clone(), new.created);
        change(writing, number, accepted).map(drop)
    })
}

/// The table `suggestions`.
#[derive(Clone, Copy, Debug)]
pub struct SuggestionTable<S>(pub(crate) S);

impl SuggestionTable<&Store> {
    /// Dismisses a suggestion; returns it as it is then.
    pub fn dismiss(self, number: u32, now: Moment) -> WriteTicket<SuggestionRecord> {
        self.0.row_job(now, move |writing| change(writing, number, |known| known.dismiss(now)))
    }
}

impl SuggestionTable<&StoreReader> {
    /// Returns the suggestions kept, oldest first: those in a state, or all.
    pub fn list(self, state: Option<SuggestionState>) -> Result<Vec<SuggestionRecord>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM suggestions WHERE ?1 IS NULL OR state = ?1 ORDER BY number");
        self.0.folded_rows(&sql, [state.map(SuggestionState::as_str)], read)
    }

    pub fn get(self, number: u32) -> Result<SuggestionRecord, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM suggestions WHERE number = ?1");
        let found = self.0.folded_first(&sql, [number], read)?;
        found.ok_or(StoreError::Suggestion(SuggestionRefusal::Unknown(number)))
    }
}

/// Changes a suggestion.
fn change(
    writing: &WriteContext<'_>,
    number: u32,
    decide: impl FnOnce(SuggestionRecord) -> Result<SuggestionRecord, SuggestionRefusal>,
) -> QueryResult<SuggestionRecord> {
    let known = all(writing.connection)?;
    let known = known.into_iter().find(|one| one.number == number);
    let known = known.ok_or(StoreError::Suggestion(SuggestionRefusal::Unknown(number)))?;
    let changed = decide(known).map_err(StoreError::Suggestion)?;
    put(writing.connection, &changed)?;
    Ok(changed)
}

fn all(connection: &Connection) -> rusqlite::Result<Vec<SuggestionRecord>> {
    query::all(connection, &format!("SELECT {COLUMNS} FROM suggestions ORDER BY number"), [], read)
}

fn put(connection: &Connection, record: &SuggestionRecord) -> rusqlite::Result<()> {
    let sql = format!(
        "INSERT OR REPLACE INTO suggestions ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
    );
    let Suggestion { title, why, path, params } = &record.suggestion;
    let values = (
        record.number,
        record.run.as_str(),
        record.plan.as_str(),
        title,
        why,
        path,
        JsonColumn(params),
        record.state.as_str(),
        MomentColumn(record.since),
        MomentColumn(record.changed),
        record.started.as_ref().map(RunId::as_str),
    );
    connection.prepare_cached(&sql)?.execute(values).map(drop)
}

fn read(row: &Row<'_>) -> rusqlite::Result<SuggestionRecord> {
    let suggestion = Suggestion {
        title: row.get("title")?,
        why: row.get("why")?,
        path: row.get("path")?,
        params: row.json("params")?,
    };
    Ok(SuggestionRecord {
        number: row.get("number")?,
        run: row.run("run")?,
        plan: row.word("plan")?,
        suggestion,
        state: row.word("state")?,
        since: row.moment("since")?,
        changed: row.moment("changed")?,
        started: row.run_if("started")?,
    })
}
