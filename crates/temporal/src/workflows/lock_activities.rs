//! The activities around named locks: a workflow cannot start another one that signals reach at once, nor look at one.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use temporalio_client::errors::WorkflowInteractionError;
use temporalio_client::{WorkflowDescribeOptions, WorkflowExecutionStatus};
use temporalio_macros::activities;
use temporalio_sdk::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use wf_base::name::RunId;

use crate::locks::queue::LockMessage;
use crate::workflows::{lock_workflow::tell_lock, workflow::RunWorkflow};

/// A message, and the lock that it is for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LockErrand {
    /// The name of the lock.
    pub lock: String,
    /// The message.
    pub message: LockMessage,
}

/// The services of a worker for locks and for runs that use them.
pub struct LockActivities {
    queue: String,
}

impl LockActivities {
    /// The time that each may take, before it is tried again.
    pub const TIMEOUT: Duration = Duration::from_secs(20);

    /// The activities of workers on a task queue, which drive the locks that are started from there.
    pub fn new(queue: String) -> Self {
        Self { queue }
    }
}

#[activities]
impl LockActivities {
    /// Tells a lock something.
    #[activity(name = "wf.lock.tell.v1")]
    pub async fn tell(
        self: Arc<Self>,
        ctx: ActivityContext,
        errand: LockErrand,
    ) -> Result<(), ActivityError> {
        let LockErrand { lock, message } = errand;
        let told = tell_lock(&ctx.client(), &self.queue, lock, message).await;
        told.map_err(|error| ApplicationFailure::new(error).into())
    }

    /// Returns false if a run is over, or was ended.
    #[activity(name = "wf.lock.look.v1")]
    pub async fn look(self: Arc<Self>, ctx: ActivityContext, run: RunId) -> Result<bool, ActivityError> {
        let handle = ctx.client().get_workflow_handle::<RunWorkflow>(run.as_str());
        match handle.describe(WorkflowDescribeOptions::default()).await {
            Ok(run) => Ok(is_open(run.status())),
            Err(WorkflowInteractionError::NotFound(_)) => Ok(false),
            Err(error) => Err(ApplicationFailure::new(error).into()),
        }
    }
}

/// True for a workflow that goes on. One of a kind that this version does not know may go on.
fn is_open(status: WorkflowExecutionStatus) -> bool {
    use WorkflowExecutionStatus::{Canceled, Completed, Failed, Terminated, TimedOut};
    !matches!(status, Canceled | Completed | Failed | Terminated | TimedOut)
}
