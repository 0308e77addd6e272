//! The activities of deployed goals: to start a run and wait for it, to cancel one, and to send a notification.

use std::{sync::Arc, time::Duration};

use futures::FutureExt as _;
use temporalio_client::{
    Client, WorkflowGetResultOptions, WorkflowHandle, WorkflowQueryOptions, WorkflowSignalOptions,
    errors::{WorkflowGetResultError, WorkflowInteractionError, WorkflowQueryError},
};
use temporalio_macros::activities;
use temporalio_sdk::{
    ApplicationFailure,
    activities::{ActivityContext, ActivityError},
};

use wf_base::{digest::Sha256Digest, name::RunId};
use wf_core::{goal::ReconciliationRunEnd, machine::RunOutcome};
use wf_engine::STOP_REASON;

use crate::{
    files::{
        objects::{ObjectError, Objects},
        tree::{Tree, TreeRef},
    },
    follower::{
        bring_back::latest_entries,
        follow::{forced_end, start},
    },
    host::{site::Sites, worker_life::WorkerLife},
    messages::{
        goal_order::{NotificationErrand, RunErrand, RunReport},
        order::{BegunRunMark, RunNews, RunOrder},
    },
    run::log::news_since,
    worker::log_line,
    workflows::{
        activities::beat_until,
        inquiry::{RunInquiry, inquire},
        workflow::RunWorkflow,
    },
};

/// The interval between two looks at a run, for whether it waits for people. The server tells at once when it is over.
const POLL: Duration = Duration::from_secs(2);

/// The services of a worker for deployed goals.
pub struct GoalActivities {
    sites: Arc<Sites>,
    objects: Objects,
    life: Arc<WorkerLife>,
}

impl GoalActivities {
    /// The time to pass on a cancel, before it is tried again.
    pub const TIMEOUT: Duration = Duration::from_secs(20);

    /// The time to send a notification, with all attempts of one try.
    pub const NOTIFICATION_TIMEOUT: Duration = Duration::from_mins(5);

    /// The number of tries to send a notification.
    pub const NOTIFICATION_TRIES: u32 = 5;

    /// The activities of a worker with its folders.
    pub fn new(sites: Arc<Sites>, objects: Objects, life: Arc<WorkerLife>) -> Self {
        Self { sites, objects, life }
    }
}

#[activities]
impl GoalActivities {
    /// Starts a run, unless it was started, and waits until there is news of it.
    #[activity(name = "wf.goal.run.v1")]
    pub async fn run(
        self: Arc<Self>,
        ctx: ActivityContext,
        errand: RunErrand,
    ) -> Result<RunReport, ActivityError> {
        let client = ctx.client();
        let news = async {
            tokio::select! {
                report = self.report(&client, &errand) => report.map_err(|error| ApplicationFailure::new(error).into()),
                // Another worker waits for the run instead.
                () = self.life.ending() => Err(ApplicationFailure::new(Unreported::Ending).into()),
                // The goal goes on in another workflow, or is over: nobody waits for this any more.
                () = ctx.cancelled() => Err(ActivityError::cancelled()),
            }
        };
        beat_until(&ctx, news).await?
    }

    #[activity(name = "wf.goal.cancel.v1")]
    pub async fn cancel(self: Arc<Self>, ctx: ActivityContext, run: RunId) -> Result<(), ActivityError> {
        let handle = ctx.client().get_workflow_handle::<RunWorkflow>(run.as_str());
        let options = WorkflowSignalOptions::default();
        match handle.signal(RunWorkflow::cancel, STOP_REASON.to_owned(), options).await {
            Ok(()) => Ok(()),
            // One that is over needs no cancel; one that has not begun is going to.
            Err(WorkflowInteractionError::NotFound(_)) if self.has_begun(&run).await? => Ok(()),
            Err(error) => Err(ApplicationFailure::new(error).into()),
        }
    }

    /// Sends a notification.
    #[activity(name = "wf.goal.notify.v1")]
    pub async fn notify(
        self: Arc<Self>,
        ctx: ActivityContext,
        errand: NotificationErrand,
    ) -> Result<(), ActivityError> {
        let _under_way = self.life.begin();
        Box::pin(beat_until(&ctx, self.sites.send_notification(&errand))).await?.map_err(|error| {
            let goal = errand.notice.pointer("/message/goal").and_then(|goal| goal.as_str());
            let (goal, attempt) = (goal.unwrap_or_default(), ctx.info().attempt);
            let most = Self::NOTIFICATION_TRIES;
            log_line(&format!("cannot send a notification about {goal} (try {attempt} of {most}): {error}"));
            ApplicationFailure::new(error).into()
        })
    }
}

/// The reason why there is no report on a run. Another try may help.
#[derive(Debug, thiserror::Error)]
enum Unreported {
    #[error(transparent)]
    Objects(#[from] ObjectError),
    #[error(transparent)]
    Follow(#[from] crate::follower::follow::FollowError),
    #[error("the Temporal server cannot tell how the run ended: {0}")]
    End(#[from] WorkflowGetResultError),
    #[error("the run has ended and does not tell how: {0}")]
    News(#[from] WorkflowQueryError),
    #[error("the run has ended and its record has no end")]
    Record,
    #[error("this worker ends before the run does")]
    Ending,
}

impl GoalActivities {
    async fn has_begun(&self, run: &RunId) -> Result<bool, ObjectError> {
        self.objects.has_json(&BegunRunMark { begun: run.clone() }).await
    }

    async fn report(&self, client: &Client, errand: &RunErrand) -> Result<RunReport, Unreported> {
        let RunErrand { run, spec, queue, .. } = errand;
        if !self.has_begun(run).await? {
            start(client, queue, RunOrder { run: run.clone(), spec: *spec, progress: None }).await?;
        }
        let handle = client.get_workflow_handle::<RunWorkflow>(run.as_str());
        let mut end = std::pin::pin!(handle.get_result(WorkflowGetResultOptions::default()).fuse());
        loop {
            tokio::select! {
                end = &mut end => return self.ended(&handle, end, errand).await,
                () = tokio::time::sleep(POLL), if !errand.is_waiting => {
                    // One that does not answer is driven by nobody now, and does not wait for people.
                    if let Ok(Some(news)) = inquire::<_, _, Option<RunNews>>(&handle, RunWorkflow::inquire, RunInquiry::News).await
                        && news.only_waits_for_people
                    {
                        return Ok(RunReport::Waits);
                    }
                }
            }
        }
    }

    /// Returns the report on an ended run.
    async fn ended(
        &self,
        handle: &WorkflowHandle<Client, RunWorkflow>,
        end: Result<RunOutcome, WorkflowGetResultError>,
        errand: &RunErrand,
    ) -> Result<RunReport, Unreported> {
        match end {
            Ok(_) => {}
            Err(error) => {
                let reason = unknown_end(&error).ok_or(error)?;
                return Ok(RunReport::Ended { end: ReconciliationRunEnd::failure(reason), tree: None });
            }
        }
        let news = handle.query(RunWorkflow::news, (), WorkflowQueryOptions::default()).await?;
        let news = news.ok_or(Unreported::Record)?;
        let parcel = self.objects.put_json(&news).await?;
        self.objects.set_name(&RunNews::name(&errand.run), &parcel).await?;
        let end = self.end_of(&news).await?.ok_or(Unreported::Record)?;
        let tree = if errand.wants_files { Some(self.files_at(&news.tree).await?) } else { None };
        Ok(RunReport::Ended { end, tree })
    }

    async fn end_of(&self, news: &RunNews) -> Result<Option<ReconciliationRunEnd>, ObjectError> {
        let log = news_since(&self.objects, news, 0).await?;
        let own = log.entries.iter().filter(|entry| entry.run.is_none());
        Ok(ReconciliationRunEnd::of_events(own.map(|entry| &entry.event.fact)))
    }

    /// Stores the files of a workspace as they are after all changes, as files to begin with.
    async fn files_at(&self, tree: &TreeRef) -> Result<Sha256Digest, ObjectError> {
        if tree.last.is_none() {
            return Ok(tree.base);
        }
        let Tree(mut files) = self.objects.get_json(&tree.base).await?;
        for (path, entry) in latest_entries(tree, &self.objects).await? {
            match entry {
                Some(entry) => drop(files.insert(path, entry)),
                None => drop(files.remove(&path)),
            }
        }
        self.objects.put_json(&Tree(files)).await
    }
}

/// Returns the reason why nobody can tell how a run ended; `None`: it is not known to have ended.
fn unknown_end(error: &WorkflowGetResultError) -> Option<String> {
    match error {
        WorkflowGetResultError::NotFound(_) => {
            Some("the Temporal server has forgotten the run: its retention is too short".into())
        }
        error => forced_end(error),
    }
}
