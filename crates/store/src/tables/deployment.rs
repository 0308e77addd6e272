//! The deployments of goals on backends.

use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;

use crate::{
    column::JsonColumn,
    db::{reader::StoreReader, store::Store, ticket::WriteTicket, writer::WriteContext},
    error::StoreError,
    tables::goals::known,
};
use wf_base::{name::PlanId, time::Moment};
use wf_core::goal::GoalLedgerState;

impl Store {
    /// Records that a goal is deployed, which its backend then decides about. False if it is already, or if its ledger differs
    /// from the one carried to the backend: nothing is recorded then.
    pub fn deploy_goal(
        &self,
        goal: &PlanId,
        deployment: Value,
        state: GoalLedgerState,
        now: Moment,
    ) -> WriteTicket<bool> {
        let goal = goal.clone();
        self.row_job(now, move |writing| {
            let failed = |error| writing.failed(&error);
            let connection = writing.connection;
            if is_deployed(connection, &goal).map_err(failed)?
                || known(connection, &goal).map_err(failed)? != Some(state)
            {
                return Ok(false);
            }
            set(connection, &goal, Some(&deployment)).map_err(failed)
        })
    }

    /// Records the deployment of a goal as it is now; `None`: it is over. False if it was over before.
    pub fn record_deployment(
        &self,
        goal: &PlanId,
        deployment: Option<Value>,
        now: Moment,
    ) -> WriteTicket<bool> {
        let goal = goal.clone();
        self.row_job(now, move |writing| {
            let failed = |error| writing.failed(&error);
            let connection = writing.connection;
            Ok(is_deployed(connection, &goal).map_err(failed)?
                && set(connection, &goal, deployment.as_ref()).map_err(failed)?)
        })
    }
}

impl StoreReader {
    /// Returns the deployment of a goal on a backend, if it has one.
    pub fn deployment(&self, goal: &PlanId) -> Result<Option<Value>, StoreError> {
        let sql = "SELECT deployment FROM goals WHERE id = ?1 AND deployment IS NOT NULL";
        let found = self.folded_rows(sql, [goal.as_str()], |row| row.get::<_, JsonColumn<Value>>(0))?;
        Ok(found.into_iter().next().map(|deployment| deployment.0))
    }
}

pub(super) fn is_deployed(connection: &Connection, goal: &PlanId) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM goals WHERE id = ?1 AND deployment IS NOT NULL";
    connection
        .prepare_cached(sql)?
        .query_row([goal.as_str()], |_| Ok(()))
        .optional()
        .map(|found| found.is_some())
}

/// Refuses what the workspace would start for a goal deployed.
pub(super) fn require_local(writing: &WriteContext<'_>, goal: &PlanId) -> Result<(), StoreError> {
    if is_deployed(writing.connection, goal).map_err(|error| writing.failed(&error))? {
        return Err(StoreError::Deployed(goal.clone()));
    }
    Ok(())
}

fn set(connection: &Connection, goal: &PlanId, deployment: Option<&Value>) -> rusqlite::Result<bool> {
    let sql = "UPDATE goals SET deployment = ?2 WHERE id = ?1";
    Ok(connection.execute(sql, (goal.as_str(), deployment.map(JsonColumn)))? > 0)
}
