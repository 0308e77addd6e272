//! Runs with a broken workflow: no worker can decide about them, as often as it is tried. They are ended without it,
//! and their record is what the history and the object store have of it.

use std::time::Duration;

use serde_json::Value;
use temporalio_client::{
    Client, WorkflowDescribeOptions, WorkflowFetchHistoryOptions, WorkflowHandle, WorkflowTerminateOptions,
    errors::WorkflowInteractionError,
};
use temporalio_common::protos::temporal::api::history::v1::{HistoryEvent, history_event::Attributes};

use crate::{
    files::parcel::Parcel,
    follower::follow::{FollowError, refused},
    messages::order::{RunNews, WorkOrder},
    workflows::workflow::RunWorkflow,
};

/// The time without an answer after which it is looked whether a run can go on.
pub(crate) const STUCK_AFTER: Duration = Duration::from_secs(15);

/// The number of times a workflow task fails before no other try is expected to help. Workers that die, and an object
/// store that is away for a moment, fail one or two.
const FAILURES: i32 = 4;

/// Returns the reason why the workflow of a run cannot go on; `None`: it can, as far as known.
pub(crate) async fn stuck(
    handle: &WorkflowHandle<Client, RunWorkflow>,
) -> Result<Option<String>, FollowError> {
    let description = handle.describe(WorkflowDescribeOptions::default()).await;
    let description = description.map_err(|error| refused("describe the workflow of the run", &error))?;
    let attempt = description.raw().pending_workflow_task.as_ref().map_or(0, |task| task.attempt);
    if attempt <= FAILURES {
        return Ok(None);
    }
    let reason = history(handle).await?.iter().rev().find_map(failure);
    let reason = reason.unwrap_or_else(|| "look at the logs of the workers".into());
    Ok(Some(format!("its workflow task failed {} times: {reason}", attempt - 1)))
}

/// Ends the workflow of a run by force: what it has under way counts no more, and workers end it within seconds.
pub(crate) async fn end_by_force(
    handle: &WorkflowHandle<Client, RunWorkflow>,
    reason: &str,
) -> Result<(), FollowError> {
    let options = WorkflowTerminateOptions::builder().reason(format!("wf: {reason}")).build();
    handle.terminate(options).await.map_err(|error| refused("end the workflow of the run", &error))
}

/// Returns the last news of a run its history has without being replayed: the log as far as the work relied on it that
/// was ordered last. `None`: nothing was ordered.
pub(crate) async fn recorded_news(
    handle: &WorkflowHandle<Client, RunWorkflow>,
) -> Result<Option<RunNews>, FollowError> {
    let orders = history(handle).await?.into_iter().filter_map(order_in);
    Ok(orders.max_by_key(|order| order.log.count).map(|WorkOrder { log, tree, .. }| RunNews {
        log,
        rest: Parcel::Inline(serde_json::json!({"entries": [], "files": []})),
        tree,
        outcome: None,
        is_keeping: false,
        only_waits_for_people: false,
        waits: Vec::new(),
    }))
}

async fn history(handle: &WorkflowHandle<Client, RunWorkflow>) -> Result<Vec<HistoryEvent>, FollowError> {
    match handle.fetch_history(WorkflowFetchHistoryOptions::default()).into_events().await {
        Err(WorkflowInteractionError::NotFound(_)) => Ok(Vec::new()),
        events => events.map_err(|error| refused("show the history of the run", &error)),
    }
}

/// Returns the order of work an event schedules.
fn order_in(event: HistoryEvent) -> Option<WorkOrder> {
    let Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) = event.attributes else {
        return None;
    };
    let input = scheduled.input?.payloads.into_iter().next()?;
    serde_json::from_slice::<Value>(&input.data).and_then(serde_json::from_value).ok()
}

/// Returns why a workflow task failed.
fn failure(event: &HistoryEvent) -> Option<String> {
    match &event.attributes {
        Some(Attributes::WorkflowTaskFailedEventAttributes(failed)) => {
            failed.failure.as_ref().map(|failure| failure.message.clone())
        }
        _ => None,
    }
}
