//! The sessions of the workspace.

use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    column::{MomentColumn, WordColumn},
    db::{reader::StoreReader, store::Store, ticket::WriteTicket, writer::WriteContext},
    error::StoreError,
    projections::row_log,
};
use wf_base::{name::SessionName, time::Moment};
use wf_core::session::{SessionChange, SessionRecord, SessionRefusal};

const SELECT: &str = "SELECT name, state, interrupts, reason, created, changed, is_current FROM sessions";

impl Store {
    /// Begins a session, which is current from then on.
    pub fn begin_session(&self, name: &SessionName, now: Moment) -> WriteTicket<SessionRecord> {
        let record = SessionRecord::begin(name.clone(), now);
        self.row_job(now, move |writing| {
            if find(writing.connection, &record.name).map_err(|error| writing.failed(&error))?.is_some() {
                return Err(StoreError::Session(SessionRefusal::Known(record.name)));
            }
            put(writing.connection, &record).map_err(|error| writing.failed(&error))?;
            Ok(record)
        })
    }

    /// Changes a session; returns it as it is then.
    pub fn change_session(
        &self,
        name: &SessionName,
        change: SessionChange,
        now: Moment,
    ) -> WriteTicket<SessionRecord> {
        let name = name.clone();
        self.row_job(now, move |writing| {
            let changed = known(writing, &name)?.change(change, now).map_err(StoreError::Session)?;
            put(writing.connection, &changed).map_err(|error| writing.failed(&error))?;
            Ok(changed)
        })
    }

    /// Leaves the current session, which stays as it is; returns false if there is none.
    pub fn leave_session(&self, now: Moment) -> WriteTicket<bool> {
        self.row_job(now, move |writing| {
            let left = leave(writing.connection).map_err(|error| writing.failed(&error))?;
            Ok(left > 0)
        })
    }
}

impl StoreReader {
    /// Returns all sessions, in the order of their beginnings.
    pub fn sessions(&self) -> Result<Vec<SessionRecord>, StoreError> {
        self.folded_rows(&format!("{SELECT} ORDER BY created, name"), [], read)
    }

    pub fn session(&self, name: &SessionName) -> Result<SessionRecord, StoreError> {
        let found = self.folded_rows(&format!("{SELECT} WHERE name = ?1"), [name.as_str()], read)?;
        found.into_iter().next().ok_or_else(|| StoreError::Session(SessionRefusal::Unknown(name.clone())))
    }

    pub fn current_session(&self) -> Result<Option<SessionRecord>, StoreError> {
        let found = self.folded_rows(&format!("{SELECT} WHERE is_current"), [], read)?;
        Ok(found.into_iter().next())
    }
}

/// Refuses a run beginning in a session that is not active.
pub(super) fn require_active(writing: &WriteContext<'_>, name: &SessionName) -> Result<(), StoreError> {
    let folded = row_log::fold(writing.connection).map_err(|error| writing.failed(&error))?;
    folded.map_err(|broken| StoreError::Broken { path: writing.writer.path.clone(), broken })?;
    known(writing, name)?.require_active().map_err(StoreError::Session)
}

fn known(writing: &WriteContext<'_>, name: &SessionName) -> Result<SessionRecord, StoreError> {
    let found = find(writing.connection, name).map_err(|error| writing.failed(&error))?;
    found.ok_or_else(|| StoreError::Session(SessionRefusal::Unknown(name.clone())))
}

fn find(connection: &Connection, name: &SessionName) -> rusqlite::Result<Option<SessionRecord>> {
    let sql = format!("{SELECT} WHERE name = ?1");
    connection.prepare_cached(&sql)?.query_row([name.as_str()], read).optional()
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
        name: row.get::<_, WordColumn<_>>(0)?.0,
        state: row.get::<_, WordColumn<_>>(1)?.0,
        interrupts: row.get(2)?,
        reason: row.get(3)?,
        created: row.get::<_, MomentColumn>(4)?.0,
        changed: row.get::<_, MomentColumn>(5)?.0,
        is_current: row.get(6)?,
    })
}
