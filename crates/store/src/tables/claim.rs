//! The claims of runs on parts of goals.

use std::collections::BTreeSet;

use rusqlite::Connection;

use crate::{
    column::{MomentColumn, RowColumns},
    db::writer::WriteContext,
    error::{QueryResult, StoreError},
    events::run_end,
    query,
    tables::{deployment, goals},
};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::goal::ReconciliationCause;

/// The part of a goal a run is started for. It is recorded together with the run, or the run is not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReconciliationClaim {
    /// The first run of a reconciliation.
    Look {
        goal: PlanId,
        /// The scheduled time, which must be due; `None`: the user asked for it.
        slot: Option<Moment>,
        cause: ReconciliationCause,
        /// The token of the daemon that decided about the scheduled time, if one did.
        token: Option<u64>,
        /// True if the backend the goal is deployed on started it.
        by_backend: bool,
    },
    Repair {
        /// The first run of the reconciliation.
        cycle: RunId,
        /// True if the backend the goal is deployed on started it.
        by_backend: bool,
    },
}

impl ReconciliationClaim {
    /// True if the backend the goal is deployed on started the run.
    pub fn is_by_backend(&self) -> bool {
        match self {
            Self::Look { by_backend, .. } | Self::Repair { by_backend, .. } => *by_backend,
        }
    }
}

/// Records the part of a goal a run is started for. Refused with [`StoreError::NotDue`] if its scheduled time is not due, with
/// [`StoreError::NotOpen`] if its reconciliation already has a repair or has ended, or another repair of the goal is running,
/// or with [`StoreError::Deployed`] if its goal is deployed and the run was not started by its backend.
pub(crate) fn claim(
    writing: &WriteContext<'_>,
    run: &RunId,
    claim: &ReconciliationClaim,
    now: Moment,
) -> QueryResult<()> {
    match claim {
        ReconciliationClaim::Look { goal, slot, cause, token, by_backend } => {
            goals::check_leadership(writing, *token)?;
            if !by_backend {
                deployment::require_local(writing, goal)?;
            }
            if let Some(slot) = slot {
                start(writing.connection, run, goal, *slot)?
                    .ok_or_else(|| StoreError::NotDue { goal: goal.to_string(), slot: *slot })?;
            }
            let sql = "INSERT INTO reconciliations (run, goal, slot, cause, started_at) VALUES (?1, ?2, ?3, ?4, ?5)";
            let (slot, began) = (slot.map(MomentColumn), MomentColumn(now));
            let values = (run.as_str(), goal.as_str(), slot, cause.as_str(), began);
            writing.connection.prepare_cached(sql)?.execute(values)?;
            Ok(())
        }
        ReconciliationClaim::Repair { cycle, by_backend } => {
            if !by_backend && let Some(goal) = goal_of(writing.connection, cycle)? {
                deployment::require_local(writing, &goal)?;
            }
            // Two repairs of one goal at once would undo each other.
            let others = other_repairs(writing.connection, cycle)?;
            if !run_end::all_ended(writing.connection, others)? {
                return Err(StoreError::NotOpen(cycle.clone()).into());
            }
            // A check run that waited for the user may be answered after its reconciliation ended.
            let sql = "UPDATE reconciliations SET repair_run = ?2
                       WHERE run = ?1 AND repair_run IS NULL AND (ended IS NULL OR health = 'waiting')";
            match writing.connection.execute(sql, (cycle.as_str(), run.as_str()))? {
                0 => Err(StoreError::NotOpen(cycle.clone()).into()),
                _ => Ok(()),
            }
        }
    }
}

/// Turns a due scheduled time into a started one; `None` if it is not due.
fn start(connection: &Connection, run: &RunId, goal: &PlanId, slot: Moment) -> rusqlite::Result<Option<()>> {
    let sql = "UPDATE slots SET state = 'started', run = ?3
               WHERE goal = ?1 AND slot = ?2 AND state IN ('due', 'queued')";
    let changed = connection.execute(sql, (goal.as_str(), MomentColumn(slot), run.as_str()))?;
    Ok((changed > 0).then_some(()))
}

fn goal_of(connection: &Connection, cycle: &RunId) -> rusqlite::Result<Option<PlanId>> {
    let sql = "SELECT goal FROM reconciliations WHERE run = ?1";
    query::first(connection, sql, [cycle.as_str()], |row| row.word(0))
}

/// Returns the repairs of the same goal in other reconciliations that may still run. Those of all others
/// had ended when their reconciliation did, or its end would have been refused.
fn other_repairs(connection: &Connection, cycle: &RunId) -> rusqlite::Result<BTreeSet<RunId>> {
    let sql = "SELECT other.repair_run FROM reconciliations AS own
               JOIN reconciliations AS other ON other.goal = own.goal AND other.run <> own.run
               WHERE own.run = ?1 AND other.repair_run IS NOT NULL
                   AND (other.ended IS NULL OR other.health IN ('waiting', 'cancelled'))";
    let mut statement = connection.prepare_cached(sql)?;
    let runs = statement.query_map([cycle.as_str()], |row| row.get::<_, String>(0))?;
    runs.map(|run| run.map(RunId::from_stored)).collect()
}
