//! The uses of approvals, counted in the log.

use std::collections::BTreeSet;

use rusqlite::{Connection, Row};

use super::chain::{COLUMNS, intact, run_of};
use super::column::Json;
use super::project::Change;
use super::state_event::{ApprovalUse, KEYS, StateEvent, all};
use super::{BrokenChain, ChainFault};
use crate::machine::{Approved, Event, Fact};

/// A run says within its first events by which approval it began.
const EARLY: u32 = 8;

/// What the log tells of an approval.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// The uses, by their numbers.
    pub(super) numbers: BTreeSet<u32>,
    /// Whether it was withdrawn.
    pub(super) is_withdrawn: bool,
}

/// What the log tells of an approval; or the first event that could tell of it and is not what was
/// written.
///
/// No table beside the log is asked, except for connections: they are no runs, and have no events.
pub(super) fn of(
    connection: &Connection,
    nonce: &str,
) -> rusqlite::Result<Result<Uses, BrokenChain>> {
    let mut uses = Uses {
        numbers: of_connections(connection, nonce)?,
        is_withdrawn: false,
    };
    let pruned = pruned(connection)?;
    let sql = format!(
        "{KEYS} SELECT {COLUMNS} FROM keys JOIN events ON run = key AND n < {EARLY} ORDER BY seq"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (seq, run): (i64, i64) = (row.get(0)?, row.get(1)?);
        let body = row.get_ref(7)?.as_str_or_null()?;
        if !intact(row)? || body.is_none() && !pruned.contains(&run) {
            return Ok(Err(BrokenChain {
                seq: seq.unsigned_abs(),
                run: run_of(connection, run)?,
                fault: ChainFault::Changed,
            }));
        }
        if body.is_some_and(|body| body.contains(nonce)) {
            uses.read(row, nonce);
        }
    }
    Ok(Ok(uses))
}

impl Uses {
    /// Takes in what an event tells of an approval.
    fn read(&mut self, row: &Row<'_>, nonce: &str) {
        if let Ok(Json(Event {
            fact: Fact::RunApproved(approved),
            ..
        })) = row.get(7)
        {
            let same = approved.nonce == nonce && approved.execution > 0;
            self.numbers.extend(same.then_some(approved.execution));
            return;
        }
        let state: Option<Json<StateEvent>> = row.get(7).ok();
        let Some(Json(event)) = state.filter(|_| matches!(row.get(2), Ok(0_i64))) else {
            return;
        };
        let uses = event.fact.uses().iter().filter(|one| one.nonce == nonce);
        self.numbers.extend(uses.map(|one| one.execution));
        let mut withdrawn = event.fact.withdrawals().iter();
        self.is_withdrawn |= withdrawn.any(|one| one.nonce == nonce);
    }
}

/// The keys of the runs whose bodies the log says were removed.
pub(super) fn pruned(connection: &Connection) -> rusqlite::Result<BTreeSet<i64>> {
    let events = all(connection)?;
    let runs = events.iter().flat_map(|event| event.fact.pruned());
    Ok(runs.map(|run| run.key).collect())
}

/// Whether an approval is good for other runs, too. One that was signed for this run alone, in the
/// moment in which it began, is used up with it: there is no second run of the same id.
pub(super) fn is_for_more(approved: &Approved) -> bool {
    approved.is_in_advance()
}

/// The uses that a run's events record, of approvals that are good for other runs, too.
pub(super) fn of_run(
    connection: &Connection,
    key: i64,
    id: &str,
) -> rusqlite::Result<Vec<ApprovalUse>> {
    let sql = "SELECT body FROM events WHERE run = ?1 AND n BETWEEN 1 AND ?2
                   AND kind = 'run_approved'";
    let mut statement = connection.prepare_cached(sql)?;
    let events = statement.query_map((key, EARLY), |row| row.get::<_, Json<Event>>(0))?;
    let mut uses = Vec::new();
    for event in events {
        if let Fact::RunApproved(approved) = event?.0.fact
            && is_for_more(&approved)
        {
            uses.extend(ApprovalUse::of(id, &approved));
        }
    }
    Ok(uses)
}

fn of_connections(connection: &Connection, nonce: &str) -> rusqlite::Result<BTreeSet<u32>> {
    connection
        .prepare_cached(
            "SELECT execution FROM main.consumed WHERE nonce = ?1 AND run LIKE 'connection:%'",
        )?
        .query_map([nonce], |row| row.get(0))?
        .collect()
}

/// Shows uses in the projection.
pub(super) fn show(connection: &Connection, uses: &[ApprovalUse]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT OR REPLACE INTO consumed (nonce, execution, token, run) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for one in uses {
        insert.execute((&one.nonce, one.execution, one.token.to_string(), &one.run))?;
    }
    Ok(())
}

impl Change<'_> {
    /// Shows that a run began by an approval.
    pub(super) fn approved(&self, approved: &Approved) -> rusqlite::Result<()> {
        let sql = "SELECT id FROM runs WHERE key = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let id: String = statement.query_row([self.run], |row| row.get(0))?;
        let used = ApprovalUse::of(&id, approved);
        show(self.connection, used.as_slice())?;
        match approved.tree {
            Some(tree) => self.approved_with(tree),
            None => Ok(()),
        }
    }
}
