//! The workflow of a named lock, which all runs in its namespace share. It ends when no task has the lock or waits for it.
//!
//! Around it are activities: a workflow cannot start another one that signals reach at once, nor look at one.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use temporalio_client::{
    Client, WorkflowDescribeOptions, WorkflowExecutionStatus, WorkflowIdConflictPolicy, WorkflowStartOptions,
    errors::{WorkflowInteractionError, WorkflowStartError},
};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    ActivityOptions, ApplicationFailure, ContinueAsNewOptions, SignalWorkflowOptions, SyncWorkflowContext,
    TimerOptions, WorkflowCancellationToken, WorkflowContext, WorkflowResult, WorkflowSignalError,
    activities::{ActivityContext, ActivityError},
    workflows::join_all,
};

use wf_base::{digest::Sha256Digest, name::RunId};

use crate::{
    files::{
        objects::{ObjectError, Objects},
        parcel::Parcel,
    },
    locks::queue::{LockMessage, LockNotice, LockQueue},
    workflows::{
        pool::Pool,
        workflow::{RunWorkflow, sure},
    },
};

/// The intervals between two looks at the run with a lock, while others wait.
const FIRST_LOOK: Duration = Duration::from_secs(3);
const LAST_LOOK: Duration = Duration::from_mins(1);

/// The number of events after which a history begins anew: the state is small.
const HISTORY_EVENTS: u32 = 500;

/// The longest name of a lock that is part of the id of its workflow.
const LONGEST_NAME: usize = 200;

/// The input of the workflow of a lock.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LockOrder {
    pub lock: String,
    /// Its [`LockQueue`], if it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Parcel>,
}

/// A lock as a workflow.
#[workflow]
pub struct LockWorkflow {
    objects: Objects,
    queue: LockQueue,
    inbox: VecDeque<LockMessage>,
}

impl LockWorkflow {
    /// Creates a lock nobody has.
    pub fn new(objects: Objects) -> Self {
        Self { objects, queue: LockQueue::default(), inbox: VecDeque::new() }
    }

    fn open(&mut self, order: LockOrder) -> Result<(), ObjectError> {
        self.queue = match order.queue {
            Some(queue) => queue.open_now(&self.objects)?,
            None => LockQueue::new(order.lock),
        };
        Ok(())
    }

    /// Returns the order going on with it.
    fn order(&self) -> Result<LockOrder, ObjectError> {
        let queue = Some(Parcel::pack_now(&self.queue, &self.objects)?);
        Ok(LockOrder { lock: self.queue.lock().to_owned(), queue })
    }

    /// Takes the new messages. Returns the answers to them.
    fn take(&mut self) -> Vec<LockNotice> {
        let Self { queue, inbox, .. } = self;
        inbox.drain(..).filter_map(|message| queue.take_message(message)).collect()
    }
}

#[workflow_methods(factory_only)]
impl LockWorkflow {
    /// Gives the lock to one task after the other, until none wants it, or until its history begins anew.
    #[run(name = "wf.lock.v1")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, order: LockOrder) -> WorkflowResult<()> {
        sure(ctx, ctx.state_mut(|state| state.open(order))).await;
        let mut looks = LockLooks { pool: Pool::default(), pause: FIRST_LOOK, is_looking: false };
        loop {
            let notices = ctx.state_mut(Self::take);
            deliver(ctx, notices).await;
            if ctx.state(|state| state.inbox.is_empty()) {
                if ctx.state(|state| state.queue.is_idle()) {
                    return Ok(());
                }
                if ctx.continue_as_new_suggested() || ctx.history_length() > HISTORY_EVENTS {
                    let order = sure(ctx, ctx.state(Self::order)).await;
                    ctx.continue_as_new(order, ContinueAsNewOptions::default())?;
                }
            }
            if let Some(run) = looks.next(ctx).await {
                let notice = ctx.state_mut(|state| state.queue.remove(&run));
                deliver(ctx, notice.into_iter().collect()).await;
            }
        }
    }

    /// Takes a message of a run.
    #[signal(name = "tell")]
    pub fn tell(&mut self, _: &mut SyncWorkflowContext<Self>, message: LockMessage) {
        self.inbox.push_back(message);
    }
}

/// Tells a lock something, as a run that has the lock or wants it. It is started if it is not there.
async fn tell_lock(
    client: &Client,
    queue: &str,
    lock: String,
    message: LockMessage,
) -> Result<(), WorkflowStartError> {
    let options = WorkflowStartOptions::new(queue, id_of(&lock));
    let options = options.id_conflict_policy(WorkflowIdConflictPolicy::UseExisting).build();
    let order = LockOrder { lock, queue: None };
    let result =
        client.signal_with_start_workflow(LockWorkflow::run, order, LockWorkflow::tell, message, options);
    result.await.map(drop)
}

fn id_of(lock: &str) -> String {
    if lock.len() <= LONGEST_NAME {
        format!("wf-lock-{lock}")
    } else {
        format!("wf-lock-{}", Sha256Digest::of_bytes(lock.as_bytes()))
    }
}

/// Says something to runs. Those that are over do not hear it, and lose their places to others.
async fn deliver(ctx: &WorkflowContext<LockWorkflow>, mut notices: Vec<LockNotice>) {
    while !notices.is_empty() {
        let reports = join_all(notices.iter().map(|notice| say(ctx.clone(), notice.clone()))).await;
        let unheard = notices.iter().zip(reports).filter(|(_, report)| report.is_err());
        let over: Vec<RunId> = unheard.map(|(notice, _)| notice.ticket.run.clone()).collect();
        notices = ctx.state_mut(|state| over.iter().filter_map(|run| state.queue.remove(run)).collect());
    }
}

/// The looks at the run with the lock, while others wait.
struct LockLooks {
    pool: Pool<Option<RunId>>,
    pause: Duration,
    is_looking: bool,
}

impl LockLooks {
    /// Waits for a message, or for the next look. Returns the run with the lock if it is over without having given the
    /// lock back: then an operator has ended it by force.
    async fn next(&mut self, ctx: &WorkflowContext<LockWorkflow>) -> Option<RunId> {
        if !self.is_looking && ctx.state(|state| state.queue.awaited().is_some()) {
            self.pool.insert(0, look(ctx.clone(), self.pause));
            self.is_looking = true;
        }
        let Some(over) = self.pool.next_unless(ctx, |state| !state.inbox.is_empty()).await else {
            self.pause = FIRST_LOOK;
            return None;
        };
        self.is_looking = false;
        self.pause = (self.pause * 2).min(LAST_LOOK);
        over
    }
}

async fn look(ctx: WorkflowContext<LockWorkflow>, pause: Duration) -> Option<RunId> {
    let own = TimerOptions::builder(pause).cancellation_token(WorkflowCancellationToken::new());
    ctx.timer(own.build()).await;
    let run = ctx.state(|state| state.queue.awaited().cloned())?;
    let options = ActivityOptions::with_start_to_close_timeout(LockActivities::TIMEOUT)
        .cancellation_token(WorkflowCancellationToken::new())
        .build();
    let is_open = ctx.execute_activity(LockActivities::look, run.clone(), options).await;
    matches!(is_open, Ok(false)).then_some(run)
}

async fn say(ctx: WorkflowContext<LockWorkflow>, notice: LockNotice) -> Result<(), WorkflowSignalError> {
    let own = SignalWorkflowOptions::builder().cancellation_token(WorkflowCancellationToken::new());
    let run = ctx.external_workflow(notice.ticket.run.as_str(), None);
    run.signal(RunWorkflow::lock, notice, own.build()).await
}

/// A message, and the lock it is for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LockErrand {
    pub lock: String,
    pub message: LockMessage,
}

/// The services of a worker for locks and for runs using them.
pub struct LockActivities {
    queue: String,
}

impl LockActivities {
    /// The time each may take, before it is tried again.
    pub const TIMEOUT: Duration = Duration::from_secs(20);

    /// The activities of workers on a task queue, which drive the locks started from there.
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
        let result = tell_lock(&ctx.client(), &self.queue, lock, message).await;
        result.map_err(|error| ApplicationFailure::new(error).into())
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

/// True for a workflow going on. One of a kind this version does not know may go on.
fn is_open(status: WorkflowExecutionStatus) -> bool {
    use WorkflowExecutionStatus::{Canceled, Completed, Failed, Terminated, TimedOut};
    !matches!(status, Canceled | Completed | Failed | Terminated | TimedOut)
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_NAME, id_of};

    #[test]
    fn a_lock_has_an_id_that_a_server_takes() {
        assert_eq!(id_of("db"), "wf-lock-db");
        let (long, other) = ("x".repeat(LONGEST_NAME + 1), "x".repeat(LONGEST_NAME + 2));
        assert!(id_of(&long).len() < LONGEST_NAME);
        assert_ne!(id_of(&long), id_of(&other));
    }
}
