//! The runs no limit prunes: other work needs them.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use crate::column::JsonColumn;
use crate::tables::undo;
use wf_base::time::Moment;
use wf_core::undo::{UndoOffer, UndoRefusal};

/// Returns the outermost runs, by id, that a reconciliation under way needs, that a run which has not ended repeats or
/// reuses, or that can be undone, each for itself or for a run nested in it.
pub(crate) fn needed(connection: &Connection, now: Moment) -> rusqlite::Result<BTreeSet<String>> {
    let sql = "SELECT run FROM reconciliations WHERE ended IS NULL
         UNION SELECT retry_of FROM runs WHERE outcome IS NULL AND retry_of IS NOT NULL
         UNION SELECT reused_from FROM runs JOIN steps ON steps.run = key
             WHERE outcome IS NULL AND reused_from IS NOT NULL";
    let mut found: BTreeSet<String> =
        connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let offers = "SELECT id, undo FROM runs WHERE undo IS NOT NULL";
    let mut offers = connection.prepare_cached(offers)?;
    let mut rows = offers.query([])?;
    while let Some(row) = rows.next()? {
        let (id, JsonColumn(offer)): (String, JsonColumn<UndoOffer>) = (row.get(0)?, row.get(1)?);
        if can_be_undone(connection, &id, &offer, now)? {
            found.insert(id);
        }
    }
    let parents: BTreeMap<String, String> = connection
        .prepare_cached("SELECT id, parent FROM runs WHERE parent IS NOT NULL")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    Ok(found.into_iter().map(|run| outermost(run, &parents)).collect())
}

/// True if a run can be undone now, or is being undone.
fn can_be_undone(
    connection: &Connection,
    run: &str,
    offer: &UndoOffer,
    now: Moment,
) -> rusqlite::Result<bool> {
    let undone_by = undo::of_run(connection, run)?;
    Ok(matches!(offer.decide(&undone_by, now), Ok(()) | Err(UndoRefusal::UnderWay(_))))
}

/// Returns the outermost of the runs a run is nested in; itself, if it is in none.
pub(crate) fn outermost(run: String, parents: &BTreeMap<String, String>) -> String {
    let mut run = run;
    // A parent is recorded before the run nested in it, so this ends.
    for _ in 0..parents.len() {
        match parents.get(&run) {
            Some(parent) => run.clone_from(parent),
            None => break,
        }
    }
    run
}
