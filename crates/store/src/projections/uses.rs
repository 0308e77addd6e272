//! The uses of approvals, counted in the log.

use std::collections::BTreeSet;

use rusqlite::{Connection, Row};

use crate::{
    column::JsonColumn,
    error::QueryResult,
    log::{
        chain::{ChainFault, LINKED, broken_at, fault},
        state_event::{ApprovalUse, KEYS, StateEvent, apply_uses, gone},
    },
    projections::project::ProjectionChange,
};
use wf_core::machine::{Event, EventKind, RunApproval};

/// The number of first events of a run among which the approval it began by is recorded.
const EARLY: u32 = 8;

/// The log's record of an approval.
#[derive(Debug, Default)]
pub(crate) struct ApprovalUseLog {
    pub(crate) numbers: BTreeSet<u32>,
    pub(crate) is_withdrawn: bool,
}

/// Reads the log's record of an approval; or returns the first event that could belong to it and
/// differs from what was written.
///
/// No table beside the log is read.
pub(crate) fn read_uses(connection: &Connection, nonce: &str) -> QueryResult<ApprovalUseLog> {
    let mut uses = ApprovalUseLog::default();
    let gone = gone(connection)?;
    let sql = format!(
        "{KEYS} SELECT {LINKED} FROM keys JOIN events ON run = key AND run_seq < {EARLY} ORDER BY seq"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let run: i64 = row.get(1)?;
        let body = row.get_ref(7)?.as_str_or_null()?;
        let fault = match fault(row)? {
            None if body.is_none() && !gone.keys.contains(&run) => Some(ChainFault::Bodiless),
            found => found,
        };
        if let Some(fault) = fault {
            return Err(broken_at(connection, row, fault)?.into());
        }
        if body.is_some_and(|body| body.contains(nonce)) {
            uses.read(row, nonce);
        }
    }
    Ok(uses)
}

impl ApprovalUseLog {
    /// Adds an event's record of the approval.
    fn read(&mut self, row: &Row<'_>, nonce: &str) {
        if let Ok(JsonColumn(Event { fact: EventKind::RunApproved(approved), .. })) = row.get(7) {
            let same = approved.nonce == nonce && approved.execution > 0;
            self.numbers.extend(same.then_some(approved.execution));
            return;
        }
        let state: Option<JsonColumn<StateEvent>> = row.get(7).ok();
        let Some(JsonColumn(event)) = state.filter(|_| matches!(row.get(2), Ok(0_i64))) else {
            return;
        };
        let uses = event.fact.uses().iter().filter(|one| one.nonce == nonce);
        self.numbers.extend(uses.map(|one| one.execution));
        let mut withdrawn = event.fact.withdrawals().iter();
        self.is_withdrawn |= withdrawn.any(|one| one.nonce == nonce);
    }
}

/// True if an approval is valid for other runs, too. One signed for this run alone, at the moment it began,
/// is used up with it: there is no second run of the same id.
pub(crate) fn is_reusable(approved: &RunApproval) -> bool {
    approved.is_in_advance()
}

/// Returns the uses a run's events record, of approvals that are valid for other runs, too.
pub(crate) fn of_run(connection: &Connection, key: i64, id: &str) -> rusqlite::Result<Vec<ApprovalUse>> {
    let sql = "SELECT body FROM events WHERE run = ?1 AND run_seq BETWEEN 1 AND ?2
                   AND kind = 'run_approved'";
    let mut statement = connection.prepare_cached(sql)?;
    let events = statement.query_map((key, EARLY), |row| row.get::<_, JsonColumn<Event>>(0))?;
    let mut uses = Vec::new();
    for event in events {
        if let EventKind::RunApproved(approved) = event?.0.fact
            && is_reusable(&approved)
        {
            uses.extend(ApprovalUse::of(id, &approved));
        }
    }
    Ok(uses)
}

impl ProjectionChange<'_> {
    /// Records the approval a run began by.
    pub(crate) fn approved(&self, approved: &RunApproval) -> rusqlite::Result<()> {
        let sql = "SELECT id FROM runs WHERE key = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let id: String = statement.query_row([self.run], |row| row.get(0))?;
        let used = ApprovalUse::of(&id, approved);
        apply_uses(self.connection, used.as_slice())?;
        match approved.tree {
            Some(tree) => self.record_tree(tree),
            None => Ok(()),
        }
    }
}
