//! The deployments of goals on backends.

use rusqlite::Connection;
use serde_json::Value;

use crate::{
    column::{JsonColumn, RowColumns},
    db::{reader::StoreReader, store::Store, ticket::WriteTicket, writer::WriteContext},
    error::{QueryResult, StoreError},
    tables::goals::{GoalTable, known},
};
use wf_base::{name::PlanId, time::Moment};
use wf_core::goal::GoalLedgerState;

impl GoalTable<&Store> {
    /// Records that a goal is deployed, which its backend then decides about. False if it is already, or if its ledger differs
    /// from the one carried to the backend: nothing is recorded then.
    pub fn deploy(
        self,
        goal: &PlanId,
        deployment: Value,
        state: GoalLedgerState,
        now: Moment,
    ) -> WriteTicket<bool> {
        let goal = goal.clone();
        self.0.row_job(now, move |writing| {
            let connection = writing.connection;
            if is_deployed(connection, &goal)? || known(connection, &goal)? != Some(state) {
                return Ok(false);
            }
            Ok(set(connection, &goal, Some(&deployment))?)
        })
    }

    /// Records the deployment of a goal as it is now; `None`: it is over. False if it was over before.
    pub fn record_deployment(
        self,
        goal: &PlanId,
        deployment: Option<Value>,
        now: Moment,
    ) -> WriteTicket<bool> {
        let goal = goal.clone();
        self.0.row_job(now, move |writing| {
            let connection = writing.connection;
            Ok(is_deployed(connection, &goal)? && set(connection, &goal, deployment.as_ref())?)
        })
    }
}

impl GoalTable<&StoreReader> {
    /// Returns the deployment of a goal on a backend, if it has one.
    pub fn deployment(self, goal: &PlanId) -> Result<Option<Value>, StoreError> {
        let sql = "SELECT deployment FROM goals WHERE id = ?1 AND deployment IS NOT NULL";
        self.0.folded_first(sql, [goal.as_str()], |row| row.json(0))
    }
}

pub(super) fn is_deployed(connection: &Connection, goal: &PlanId) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM goals WHERE id = ?1 AND deployment IS NOT NULL";
    connection.prepare_cached(sql)?.exists([goal.as_str()])
}

/// Refuses what the workspace would start for a goal deployed.
pub(super) fn require_local(writing: &WriteContext<'_>, goal: &PlanId) -> QueryResult<()> {
    if is_deployed(writing.connection, goal)? {
        return Err(StoreError::Deployed(goal.clone()).into());
    }
    Ok(())
}

fn set(connection: &Connection, goal: &PlanId, deployment: Option<&Value>) -> rusqlite::Result<bool> {
    let sql = "UPDATE goals SET deployment = ?2 WHERE id = ?1";
    Ok(connection.execute(sql, (goal.as_str(), deployment.map(JsonColumn)))? > 0)
}
