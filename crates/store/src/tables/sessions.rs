//! The sessions of the workspace.

use rusqlite::{Connection, Row};

use crate::{
    column::{MomentColumn, RowColumns},
    db::{reader::StoreReader, store::Store, ticket::WriteTicket},
    error::{QueryResult, StoreError},
    projections::row_log,
    query,
};
use wf_base::{name::SessionName, time::Moment};
use wf_core::session::{SessionChange, SessionRecord, SessionRefusal};

const SELECT: &str = "SELECT name, state, interrupts, reason, created, changed, is_current FROM sessions";

/// The table `sessions`.
#[derive(Clone, Copy, Debug)]
pub struct SessionTable<S>(pub(crate) S);

impl SessionTable<&Store> {
    /// Begins a session, which is current from then on.
    pub fn begin(self, name: &SessionName, now: Moment) -> WriteTicket<SessionRecord> {
        let record = SessionRecord::begin(name.clone(), now);
        self.0.row_job(now, move |writing| {
            if find(writing.connection, &record.name)?.is_some() {
                return Err(StoreError::Session(SessionRefusal::Known(record.name)).into());
            }
            put(writing.connection, &record)?;
            Ok(record)
        })
    }

    /// Changes a session; returns it as it is then.
    pub fn change(
        self,
        name: &SessionName,
        change: SessionChange,
        now: Moment,
    ) -> WriteTicket<SessionRecord> {
        let name = name.clone();
        self.0.row_job(now, move |writing| {
            let changed =
                known(writing.connection, &name)?.change(change, now).map_err(StoreError::Session)?;
            put(writing.connection, &changed)?;
            Ok(changed)
        })
    }

    /// Leaves the current session, which stays as it is; returns false if there is none.
    pub fn leave(self, now: Moment) -> WriteTicket<bool> {
        self.0.row_job(now, move |writing| Ok(leave(writing.connection)? > 0))
    }
}

impl SessionTable<&StoreReader> {
    /// Returns all sessions, in the order of their beginnings.
    pub fn all(self) -> Result<Vec<SessionRecord>, StoreError> {
        self.0.folded_rows(&format!("{SELECT} ORDER BY created, name"), [], read)
    }

    pub fn get(self, name: &SessionName) -> Result<SessionRecord, StoreError> {
        let found = self.0.folded_first(&format!("{SELECT} WHERE name = ?1"), [name.as_str()], read)?;
        found.ok_or_else(|| StoreError::Session(SessionRefusal::Unknown(name.clone())))
    }

    pub fn current(self) -> Result<Option<SessionRecord>, StoreError> {
        self.0.folded_first(&format!("{SELECT} WHERE is_current"), [], read)
    }
}

/// Refuses a run beginning in a session that is not active.
pub(super) fn require_active(connection: &Connection, name: &SessionName) -> QueryResult<()> {
    row_log::fold(connection)?;
    Ok(known(connection, name)?.require_active().map_err(StoreError::Session)?)
}

fn known(connection: &Connection, name: &SessionName) -> QueryResult<SessionRecord> {
    let found = find(connection, name)?;
    Ok(found.ok_or_else(|| StoreError::Session(SessionRefusal::Unknown(name.clone())))?)
}

fn find(connection: &Connection, name: &SessionName) -> rusqlite::Result<Option<SessionRecord>> {
    query::first(connection, &format!("{SELECT} WHERE name = ?1"), [name.as_str()], read)
}

/// Writes a session; if it is current, no other one is.
fn put(connection: &Connection, record: &SessionRecord) -> rusqlite::Result<()> {
    if record.is_current {
        leave(connection)?;
    }
    let sql =
        "INSERT OR REPLACE INTO sessions (name, state, interrupts, reason, created, changed, is_current)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let values = (
        record.name.as_str(),
        record.state.as_str(),
        record.interrupts,
        &record.reason,
        MomentColumn(record.created),
        MomentColumn(record.changed),
        record.is_current,
    );
    connection.prepare_cached(sql)?.execute(values).map(drop)
}

fn leave(connection: &Connection) -> rusqlite::Result<usize> {
    connection.prepare_cached("UPDATE sessions SET is_current = 0 WHERE is_current")?.execute([])
}

fn read(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    Ok(SessionRecord {
        name: row.word(0)?,
        state: row.word(1)?,
        interrupts: row.get(2)?,
        reason: row.get(3)?,
        created: row.moment(4)?,
        changed: row.moment(5)?,
        is_current: row.get(6)?,
    })
}
