//! The one activity: to do a piece of work for a run. Before it calls a model, it asks the ledgers of its workflow, wherever
//! that is done.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use temporalio_client::{
    Client, QueryRejectCondition, WorkflowExecuteUpdateOptions, WorkflowHandle, WorkflowQueryOptions,
    errors::WorkflowQueryError,
};
use temporalio_macros::activities;
use temporalio_sdk::{
    ApplicationFailure,
    activities::{ActivityContext, ActivityError},
};
use tokio::{
    sync::watch,
    time::{Instant, interval_at},
};

use wf_base::{failpoint, time::Moment};
use wf_engine::{EngineError, FutureClaim, SharedLedgers, WorkClaim};
use wf_exec::{StopLevel, WorkError};

use crate::{
    host::{
        site::{Sites, WorkerError},
        worker_life::WorkerLife,
    },
    messages::order::{WorkOrder, WorkReport, WorkWish},
    workflows::{
        inquiry::{InquiryError, RunInquiry, inquire},
        waits::{HEARTBEAT, moment_of},
        workflow::RunWorkflow,
    },
};

/// The interval between two looks for a wish of the workflow, after the first.
const WISH_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The work a worker does.
pub struct WorkActivities {
    sites: Arc<Sites>,
    life: Arc<WorkerLife>,
}

impl WorkActivities {
    /// The work in the folders of a worker.
    pub fn new(sites: Arc<Sites>, life: Arc<WorkerLife>) -> Self {
        Self { sites, life }
    }
}

#[activities]
impl WorkActivities {
    /// Does a piece of work. Its result is always a report; an error is one of the worker, and another try may help.
    #[activity(name = "wf.work.v1")]
    pub async fn work(
        self: Arc<Self>,
        ctx: ActivityContext,
        order: WorkOrder,
    ) -> Result<WorkReport, ActivityError> {
        failpoint::point("work.before");
        let (_under_way, begun) = (self.life.begin(), Instant::now());
        let (stop, heard) = watch::channel(StopLevel::No);
        let (is_again, key) = (ctx.info().attempt > 1, order.key);
        let claimant = Claimant { workflow: ctx.workflow_handle().map(Arc::new), key };
        let work = async {
            tokio::select! {
                report = CLAIMANT.scope(claimant, self.sites.work(order, is_again, heard)) => {
                    failpoint::point("report.before");
                    report.map_err(|error| failure(error).into())
                }
                () = heed(&ctx, key, stop) => Ok(self.sites.report_left()),
            }
        };
        let report: Result<WorkReport, ActivityError> = beat_until(&ctx, Box::pin(work)).await?;
        report.map(|report| WorkReport { ended: server_time(&ctx, begun), ..report })
    }
}

/// Returns the present instant by the clock of the server, given when an activity began here: the clocks of hosts differ, and
/// a run has one order of times.
fn server_time(ctx: &ActivityContext, begun: Instant) -> Option<Moment> {
    ctx.info().started_time.map(|started| moment_of(started + begun.elapsed()))
}

/// Waits for the end of an activity, and tells the server meanwhile that its worker lives.
pub(crate) async fn beat_until<T>(
    ctx: &ActivityContext,
    end: impl Future<Output = T>,
) -> Result<T, ActivityError> {
    let mut end = std::pin::pin!(end);
    // Most work ends before the first one is due, and costs no message for it.
    let mut beat = interval_at(Instant::now() + HEARTBEAT / 4, HEARTBEAT / 4);
    loop {
        tokio::select! {
            end = &mut end => return Ok(end),
            _ = beat.tick() => ctx.record_heartbeat(()).await?,
        }
    }
}

/// Returns the failure of a piece of work. Another try helps, unless this worker was started anew and knows nothing of an
/// agent that worked at the one before.
fn failure(error: WorkerError) -> ApplicationFailure {
    match error {
        WorkerError::Engine(EngineError::Stuck) => ApplicationFailure::non_retryable(error),
        error => ApplicationFailure::new(error),
    }
}

/// Passes on the wishes of the workflow, once the server says that there is one. Returns if the work is to be left.
async fn heed(ctx: &ActivityContext, key: u64, stop: watch::Sender<StopLevel>) {
    ctx.cancelled().await;
    loop {
        match wish(ctx, key).await {
            WorkWish::GoOn => {}
            WorkWish::Leave => return,
            WorkWish::End => drop(stop.send_replace(StopLevel::Gently)),
            WorkWish::Kill => drop(stop.send_replace(StopLevel::AtOnce)),
        }
        tokio::time::sleep(WISH_POLL_INTERVAL).await;
    }
}

/// Asks the workflow for its wish about a piece of work. One that is over has none any more.
async fn wish(ctx: &ActivityContext, key: u64) -> WorkWish {
    let Some(handle) = ctx.workflow_handle::<RunWorkflow>() else { return WorkWish::End };
    match inquire(&handle, RunWorkflow::inquire, RunInquiry::Wish(key)).await {
        Ok(wish) => wish,
        Err(InquiryError::Over) => WorkWish::End,
        Err(InquiryError::Foreign) => wish_of_earlier(&handle, key).await,
        // Nobody answers now.
        Err(_) => WorkWish::GoOn,
    }
}

/// Asks a workflow a worker of the version before drives.
async fn wish_of_earlier(handle: &WorkflowHandle<Client, RunWorkflow>, key: u64) -> WorkWish {
    use WorkflowQueryError::{NotFound, Rejected};
    let options = WorkflowQueryOptions::builder().reject_condition(QueryRejectCondition::NotOpen).build();
    match handle.query(RunWorkflow::wish, key, options).await {
        Ok(wish) => wish,
        Err(NotFound(_) | Rejected { .. }) => WorkWish::End,
        Err(_) => WorkWish::GoOn,
    }
}

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
            let (workflow, key) =
                claimant.ok_or_else(|| WorkError::environmental("no workflow has ordered the call"))?;
            let options = WorkflowExecuteUpdateOptions::default();
            let answer =
                workflow.execute_update(RunWorkflow::claim, OrderClaim { key, claim }, options).await;
            answer.map_err(|error| WorkError::environmental(error.to_string()))
        })
    }
}
