//! The one activity: to do a piece of work for a run.

use std::sync::Arc;
use std::time::Duration;

use temporalio_macros::activities;
use temporalio_sdk::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::sync::watch;

use wf_exec::StopLevel;

use crate::order::{WorkOrder, WorkReport};
use crate::site::Sites;
use crate::workflow::HEARTBEAT;

/// The work that a worker does.
pub struct WorkActivities {
    sites: Arc<Sites>,
}

impl WorkActivities {
    /// The work in the folders of a worker.
    pub fn new(sites: Arc<Sites>) -> Self {
        Self { sites }
    }
}

#[activities]
impl WorkActivities {
    /// Does a piece of work. Whatever it leads to is a report; an error is one of the worker, and another try may help.
    #[activity(name = "wf.work.v1")]
    pub async fn work(
        self: Arc<Self>,
        ctx: ActivityContext,
        order: WorkOrder,
    ) -> Result<WorkReport, ActivityError> {
        let (stop, heard) = watch::channel(StopLevel::No);
        let is_again = ctx.info().attempt > 1;
        let mut work = std::pin::pin!(self.sites.work(order, is_again, heard));
        let mut beat = tokio::time::interval(HEARTBEAT / 4);
        let mut grace = std::pin::pin!(tokio::time::sleep(Duration::MAX));
        let mut is_told = false;
        loop {
            tokio::select! {
                report = &mut work => return report.map_err(|error| ApplicationFailure::new(error).into()),
                _ = beat.tick() => ctx.record_heartbeat(()).await?,
                () = ctx.cancelled(), if !is_told => {
                    is_told = true;
                    stop.send_replace(StopLevel::Gently);
                }
                () = &mut grace => {}
            }
        }
    }
}
