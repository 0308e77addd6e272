//! The suggestions of runs: kept in the transaction recording the end of the run, and accepted in the one recording the
//! run they start. The configuration of that run names the suggestion.

use rusqlite::{Connection, Row};
use serde_json::Value;

use crate::{
    column::{JsonColumn, MomentColumn, WordColumn},
    db::{reader::StoreReader, store::Store, ticket::WriteTicket, writer::WriteContext},
    error::StoreError,
    projections::row_log,
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
) -> Result<(), StoreError> {
    let failed = |error| writing.failed(&error);
    row_log::change(writing, now, || {
        let sql = "SELECT plan FROM runs WHERE id = ?1";
        let plan = writing.connection.query_row(sql, [run.as_str()], |row| row.get::<_, WordColumn<_>>(0));
        let WordColumn(plan): WordColumn<PlanId> = plan.map_err(failed)?;
        let mut kept = all(writing.connection).map_err(failed)?;
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
            put(writing.connection, &record).map_err(failed)?;
            kept.push(record);
        }
        Ok(())
    })
}

/// Accepts the suggestion by which a new run is started, if it is.
pub(super) fn accept(writing: &WriteContext<'_>, run: &RunId, new: &NewRun) -> Result<(), StoreError> {
    let Some(number) = new.config.get(SUGGESTION).and_then(Value::as_u64) else {
        return Ok(());
    };
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    row_log::change(writing, new.created, || {
        let accepted = |suggestion: SuggestionRecord| suggestion.accept(run.clone(), new.created);
        change(writing, number, accepted).map(drop)
    })
}

impl Store {
    /// Dismisses a suggestion; returns it as it is then.
    pub fn dismiss_suggestion(&self, number: u32, now: Moment) -> WriteTicket<SuggestionRecord> {
        self.row_job(now, move |writing| change(writing, number, |known| known.dismiss(now)))
    }
}

impl StoreReader {
    /// Returns the suggestions kept, oldest first: those in a state, or all.
    pub fn suggestions(&self, state: Option<SuggestionState>) -> Result<Vec<SuggestionRecord>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM suggestions WHERE ?1 IS NULL OR state = ?1 ORDER BY number");
        self.folded_rows(&sql, [state.map(SuggestionState::as_str)], read)
    }

    pub fn suggestion(&self, number: u32) -> Result<SuggestionRecord, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM suggestions WHERE number = ?1");
        let found = self.folded_rows(&sql, [number], read)?.into_iter().next();
        found.ok_or(StoreError::Suggestion(SuggestionRefusal::Unknown(number)))
    }
}

/// Changes a suggestion.
fn change(
    writing: &WriteContext<'_>,
    number: u32,
    decide: impl FnOnce(SuggestionRecord) -> Result<SuggestionRecord, SuggestionRefusal>,
) -> Result<SuggestionRecord, StoreError> {
    let known = all(writing.connection).map_err(|error| writing.failed(&error))?;
    let known = known.into_iter().find(|one| one.number == number);
    let known = known.ok_or(StoreError::Suggestion(SuggestionRefusal::Unknown(number)))?;
    let changed = decide(known).map_err(StoreError::Suggestion)?;
    put(writing.connection, &changed).map_err(|error| writing.failed(&error))?;
    Ok(changed)
}

fn all(connection: &Connection) -> rusqlite::Result<Vec<SuggestionRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM suggestions ORDER BY number");
    connection.prepare_cached(&sql)?.query_map([], read)?.collect()
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
        params: row.get::<_, JsonColumn<_>>("params")?.0,
    };
    Ok(SuggestionRecord {
        number: row.get("number")?,
        run: RunId::from_stored(row.get::<_, String>("run")?),
        plan: row.get::<_, WordColumn<_>>("plan")?.0,
        suggestion,
        state: row.get::<_, WordColumn<_>>("state")?.0,
        since: row.get::<_, MomentColumn>("since")?.0,
        changed: row.get::<_, MomentColumn>("changed")?.0,
        started: row.get::<_, Option<String>>("started")?.map(RunId::from_stored),
    })
}
