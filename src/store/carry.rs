//! The uses and withdrawals of approvals, which no backup takes back.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::Connection;

use super::column::Word;
use super::log::{Position, Tail};
use super::mark::Marker;
use super::state_event::{self, ApprovalUse, KEYS, StateEvent, StateFact, WithdrawnApproval, all};
use super::{Durability, Folder, LogPlace, Reader, StoreError, connect, uses};
use crate::time::Moment;

/// Uses that were taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// How many.
    pub uses: usize,
    /// Where the log says so.
    pub place: LogPlace,
}

/// Takes over the uses and the withdrawals of approvals that the log of one state records and that of another
/// does not; `None` if there are none. A state that cannot be read tells of none.
pub(super) fn uses(from: &Path, to: &Path, now: Moment) -> Result<Option<Carried>, StoreError> {
    let Ok(old) = Reader::open(from) else {
        return Ok(None);
    };
    let folder = Folder::new(to);
    let connection = connect::for_writing(&folder, Durability::Full)?;
    let failed = |error| StoreError::sqlite(&folder.database(), &error);
    let known = recorded(&connection).map_err(failed)?;
    // What cannot be read of a damaged state is not carried.
    let wanted = recorded(old.connection()).unwrap_or_default();
    let uses: Vec<ApprovalUse> = wanted.difference(&known).cloned().collect();
    let known = withdrawals(&connection).map_err(failed)?;
    let wanted = withdrawals(old.connection()).unwrap_or_default();
    let withdrawals = wanted.difference(&known).cloned().collect();
    let count = uses.len();
    let fact = StateFact::UsesCarried { uses, withdrawals };
    let tail = add(&connection, fact, now).map_err(failed)?;
    let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
    let moved = connection.query_row(truncate, [], |_| Ok(()));
    moved.map_err(failed)?;
    Ok(tail.map(|tail| {
        Marker::new(&folder, Durability::Full).put(&tail);
        Carried {
            uses: count,
            place: LogPlace::from(&tail),
        }
    }))
}

/// The uses that a log records, and those by connections, which are in no event.
fn recorded(connection: &Connection) -> rusqlite::Result<BTreeSet<ApprovalUse>> {
    let mut found = BTreeSet::new();
    let sql = format!(
        "{KEYS} SELECT key, body ->> '$.run' FROM keys JOIN events ON run = key AND n = 0
         WHERE body ->> '$.run' IS NOT NULL"
    );
    let mut statement = connection.prepare(&sql)?;
    let mut runs = statement.query([])?;
    while let Some(run) = runs.next()? {
        let id: String = run.get(1)?;
        found.extend(uses::of_run(connection, run.get(0)?, &id)?);
    }
    for event in all(connection)? {
        found.extend(event.fact.uses().iter().cloned());
    }
    let sql = "SELECT nonce, execution, token, run FROM consumed WHERE run LIKE 'connection:%'";
    let mut statement = connection.prepare(sql)?;
    let uses = statement.query_map([], |row| {
        Ok(ApprovalUse {
            nonce: row.get(0)?,
            execution: row.get(1)?,
            token: row.get::<_, Word<_>>(2)?.0,
            run: row.get(3)?,
        })
    })?;
    for one in uses {
        found.insert(one?);
    }
    Ok(found)
}

/// The withdrawals that a log records.
fn withdrawals(connection: &Connection) -> rusqlite::Result<BTreeSet<WithdrawnApproval>> {
    let events = all(connection)?;
    let withdrawn = events.iter().flat_map(|event| event.fact.withdrawals());
    Ok(withdrawn.cloned().collect())
}

/// Adds the event that records what is taken over; gives the end of the log, if that is anything.
fn add(connection: &Connection, fact: StateFact, now: Moment) -> rusqlite::Result<Option<Tail>> {
    if fact.uses().is_empty() && fact.withdrawals().is_empty() {
        return Ok(None);
    }
    let transaction = connection.unchecked_transaction()?;
    state_event::show(connection, &fact)?;
    let mut tail = Tail::read(connection)?;
    let place = Position::of_state(&tail);
    let event = StateEvent { at: now, fact };
    let body = serde_json::to_string(&event);
    let body = body.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    tail.push(connection, place, &body)?;
    transaction.commit()?;
    Ok(Some(tail))
}
