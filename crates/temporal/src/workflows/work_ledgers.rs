//! The ledgers of runs as their workflow keeps them: it is asked before a model is called, wherever that is done.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use temporalio_client::{Client, WorkflowExecuteUpdateOptions, WorkflowHandle};

use wf_engine::{FutureClaim, SharedLedgers, WorkClaim};

use crate::workflows::workflow::RunWorkflow;

tokio::task_local! {
    /// The work under way in a task.
    pub(crate) static CLAIMANT: Claimant;
}

/// Some work, and the ordering workflow.
#[derive(Clone)]
pub(crate) struct Claimant {
    pub(crate) workflow: Option<Arc<WorkflowHandle<Client, RunWorkflow>>>,
    pub(crate) key: u64,
}

/// A claim of some work, as a message to its workflow.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct OrderClaim {
    /// The number of the work.
    pub key: u64,
    pub claim: WorkClaim,
}

/// The ledgers of the workflows that order the work of this process.
#[derive(Debug)]
pub(crate) struct WorkflowLedgers;

impl SharedLedgers for WorkflowLedgers {
    fn claim(&self, claim: WorkClaim) -> FutureClaim {
        let claimant = CLAIMANT.try_with(Claimant::clone).ok();
        let claimant = claimant.and_then(|Claimant { workflow, key }| Some((workflow?, key)));
        Box::pin(async move {
            let (workflow, key) = claimant.ok_or("no workflow has ordered the call")?;
            let options = WorkflowExecuteUpdateOptions::default();
            let answer =
                workflow.execute_update(RunWorkflow::claim, OrderClaim { key, claim }, options).await;
            answer.map_err(|error| error.to_string())
        })
    }
}
