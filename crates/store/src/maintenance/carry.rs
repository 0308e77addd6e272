//! The uses and withdrawals of approvals, which restoring a backup does not undo.

use std::{collections::BTreeSet, path::Path};

use rusqlite::Connection;

use crate::{
    db::{connect, reader::StoreReader},
    error::StoreError,
    files::folder::{StateFolder, StoreDurability},
    log::{
        mark::LogMarkFile,
        state_event,
        state_event::{ApprovalUse, KEYS, StateEvent, StateFact, WithdrawnApproval, all},
        tail::{LogPosition, LogTail, RunPosition},
    },
    projections::uses,
};
use wf_base::time::Moment;

/// The uses of approvals carried over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedUses {
    pub uses: usize,
    /// The position of the record in the log.
    pub position: LogPosition,
}

/// Carries over the uses and the withdrawals of approvals the log of one state records and that of another
/// does not; `None` if there are none. A state that cannot be read yields none.
pub(crate) fn uses(from: &Path, to: &Path, now: Moment) -> Result<Option<CarriedUses>, StoreError> {
    let Ok(old) = StoreReader::open(from) else {
        return Ok(None);
    };
    let folder = StateFolder::new(to);
    let connection = connect::for_writing(&folder, StoreDurability::Full)?;
    let failed = |error| StoreError::sqlite(&folder.database(), &error);
    let known = recorded(&connection).map_err(failed)?;
    // Unreadable parts of a damaged state are not carried over.
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
        LogMarkFile::new(&folder, StoreDurability::Full).write_mark(&tail);
        CarriedUses { uses: count, position: LogPosition::from(&tail) }
    }))
}

/// Returns the uses a log records.
fn recorded(connection: &Connection) -> rusqlite::Result<BTreeSet<ApprovalUse>> {
    let mut found = BTreeSet::new();
    let sql = format!(
        "{KEYS} SELECT key, body ->> '$.run' FROM keys JOIN events ON run = key AND run_seq = 0
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
    Ok(found)
}

/// Returns the withdrawals a log records.
fn withdrawals(connection: &Connection) -> rusqlite::Result<BTreeSet<WithdrawnApproval>> {
    let events = all(connection)?;
    let withdrawn = events.iter().flat_map(|event| event.fact.withdrawals());
    Ok(withdrawn.cloned().collect())
}

/// Adds the event recording what is carried over; returns the new end of the log, if there is anything.
fn add(connection: &Connection, fact: StateFact, now: Moment) -> rusqlite::Result<Option<LogTail>> {
    if fact.uses().is_empty() && fact.withdrawals().is_empty() {
        return Ok(None);
    }
    let transaction = connection.unchecked_transaction()?;
    state_event::show(connection, &fact)?;
    let mut tail = LogTail::read(connection)?;
    let place = RunPosition::of_state(&tail);
    let event = StateEvent { at: now, fact };
    let body = serde_json::to_string(&event);
    let body = body.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    tail.push(connection, place, &body)?;
    transaction.commit()?;
    Ok(Some(tail))
}
