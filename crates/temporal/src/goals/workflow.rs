//! The workflow of a deployed goal: it waits, and passes on the news. It ends when its workspace has recalled it.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures::FutureExt as _;
use temporalio_common::RetryPolicy;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityExecutionError, ActivityOptions, ContinueAsNewOptions, SyncWorkflowContext, TimerOptions,
    TimerResult, WorkflowCancellationToken, WorkflowContext, WorkflowContextView, WorkflowResult,
};

use wf_app::goals::GoalAct;
use wf_base::{name::RunId, time::Moment};
use wf_core::goal::ReconciliationRunEnd;

use crate::{
    files::objects::Objects,
    goals::{
        activities::GoalActivities,
        keeper::{GoalDuty, GoalKeeper},
    },
    messages::goal_order::{GoalNews, GoalOrder, NotificationErrand, RunErrand, RunReport},
    run::{plan::RunPlans, progress::DriverError},
    workflows::{
        inquiry::answer,
        pool::Pool,
        waits::{HEARTBEAT, now},
        workflow::sure,
    },
};

/// The number of events after which a history begins anew: the state is small.
const HISTORY_EVENTS: u32 = 2_000;

/// The longest time that one wait for a run takes, before another one goes on with it.
const LONGEST_RUN: Duration = Duration::from_hours(30 * 24);

/// The longest pause between two tries of what a worker does for a goal.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// A deployed goal as a workflow.
#[workflow]
pub struct GoalWorkflow {
    objects: Objects,
    plans: Arc<RunPlans>,
    inbox: VecDeque<GoalAct>,
    keeper: Option<GoalKeeper>,
}

impl GoalWorkflow {
    /// Creates a workflow not yet begun.
    pub fn new(objects: Objects, plans: Arc<RunPlans>) -> Self {
        Self { objects, plans, inbox: VecDeque::new(), keeper: None }
    }

    fn open(&mut self, order: GoalOrder) -> Result<(), DriverError> {
        self.keeper = Some(GoalKeeper::open(order, &self.plans, self.objects.clone())?);
        Ok(())
    }
}

#[workflow_methods(factory_only)]
impl GoalWorkflow {
    /// Decides about the goal until it is recalled, or until its history begins anew.
    #[run(name = "wf.goal.v1")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, order: GoalOrder) -> WorkflowResult<()> {
        sure(ctx, ctx.state_mut(|state| state.open(order))).await;
        let mut at = now(ctx);
        let mut duties = keep(ctx, |keeper| keeper.begin(at)).await;
        let mut waits = GoalWaits::new(ctx);
        loop {
            for duty in duties.drain(..) {
                waits.begin(ctx, duty);
            }
            if waits.notifications == 0 && ctx.state(|state| state.inbox.is_empty()) {
                if keep(ctx, |keeper| Ok(keeper.is_over())).await {
                    return Ok(());
                }
                if ctx.continue_as_new_suggested() || ctx.history_length() > HISTORY_EVENTS {
                    let order = keep(ctx, GoalKeeper::store).await;
                    ctx.continue_as_new(order, ContinueAsNewOptions::default())?;
                }
            }
            let wake = keep(ctx, |keeper| Ok(keeper.wake())).await;
            waits.set_alarm(ctx, at, wake);
            let ended = waits.next(ctx).await;
            // A worker that takes the goal over may be told the time of its last decision: before the alarm that went off.
            at = now(ctx).max(waits.reached);
            duties = keep(ctx, |keeper| match ended {
                GoalWaitEnd::Reported(run, report) => keeper.report(at, run, report),
                GoalWaitEnd::Acted(act) => keeper.act(at, act),
                GoalWaitEnd::Passed => keeper.wake_up(at),
            })
            .await;
        }
    }

    /// Refuses an act without effect.
    #[update_validator(act)]
    fn check_act(
        &self,
        _: &WorkflowContextView,
        act: &GoalAct,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let refusal = self.keeper.as_ref().and_then(|keeper| keeper.refusal(act));
        refusal.map_or(Ok(()), |reason| Err(reason.into()))
    }

    /// Takes the act of a person.
    #[update(name = "act")]
    pub fn act(&mut self, _: &mut SyncWorkflowContext<Self>, act: GoalAct) {
        self.inbox.push_back(act);
    }

    /// Answers the question for the records, which leaves nothing in the history: the answer is the reason of a refusal.
    #[update_validator(inquire)]
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the macro passes every input so")]
    fn answer_inquiry(
        &self,
        _: &WorkflowContextView,
        (): &(),
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Err(answer(&self.keeper.as_ref().map(GoalKeeper::news)))
    }

    /// Takes a question. None comes here: each is answered by a refusal.
    #[update(name = "inquire")]
    pub fn inquire(&mut self, _: &mut SyncWorkflowContext<Self>, (): ()) {}

    /// Returns the records of the goal, as far as they are stored, and the rest, once it is over; `None`: it has not begun.
    #[query(name = "records")]
    pub fn records(&self, _: &WorkflowContextView, (): ()) -> Option<GoalNews> {
        self.keeper.as_ref().map(GoalKeeper::news)
    }
}

/// The end of a wait.
enum GoalWaitEnd {
    Reported(RunId, RunReport),
    Acted(GoalAct),
    /// Nothing but that time passed.
    Passed,
}

/// The end of a future of the workflow.
enum PoolEnd {
    Run(RunId, Box<Result<RunReport, ActivityExecutionError>>),
    Notification,
    Cancel,
    Alarm(Moment),
    Silence,
    Cancelled,
}

/// The waits of the workflow. They do not end if it is cancelled, as an operator of the server may: that recalls it.
struct GoalWaits {
    pool: Pool<PoolEnd>,
    next: u64,
    alarm: Option<(Moment, WorkflowCancellationToken)>,
    /// The latest instant of all alarms that went off.
    reached: Moment,
    /// The number of notifications being sent.
    notifications: usize,
}

impl GoalWaits {
    fn new(ctx: &WorkflowContext<GoalWorkflow>) -> Self {
        let (ctx, pool) = (ctx.clone(), Pool::default());
        let mut waits = Self { pool, next: 0, alarm: None, reached: Moment::default(), notifications: 0 };
        waits.insert(async move {
            ctx.cancelled().await;
            PoolEnd::Cancelled
        });
        waits
    }

    fn insert(&mut self, future: impl Future<Output = PoolEnd> + 'static) {
        self.pool.insert(self.next, future);
        self.next += 1;
    }

    fn begin(&mut self, ctx: &WorkflowContext<GoalWorkflow>, duty: GoalDuty) {
        let ctx = ctx.clone();
        match duty {
            GoalDuty::Run(errand) => {
                let run = errand.run.clone();
                let report = wait_for_run(ctx, errand);
                self.insert(report.map(|report| PoolEnd::Run(run, Box::new(report))));
            }
            GoalDuty::Cancel(run) => self.insert(cancel(ctx, run).map(|()| PoolEnd::Cancel)),
            GoalDuty::Notify(errand) => {
                self.notifications += 1;
                self.insert(notify(ctx, errand).map(|()| PoolEnd::Notification));
            }
        }
    }

    /// Sets the alarm to an instant, instead of the one it is set to.
    fn set_alarm(&mut self, ctx: &WorkflowContext<GoalWorkflow>, at: Moment, wake: Option<Moment>) {
        if self.alarm.as_ref().map(|(due, _)| *due) == wake {
            return;
        }
        if let Some((_, token)) = self.alarm.take() {
            token.cancel();
        }
        let Some(due) = wake else { return };
        let token = WorkflowCancellationToken::new();
        let options = TimerOptions::builder(due.since(at)).cancellation_token(token.clone()).build();
        self.alarm = Some((due, token));
        let ctx = ctx.clone();
        self.insert(async move {
            match ctx.timer(options).await {
                TimerResult::Fired => PoolEnd::Alarm(due),
                TimerResult::Cancelled => PoolEnd::Silence,
            }
        });
    }

    /// Waits for the next occurrence.
    async fn next(&mut self, ctx: &WorkflowContext<GoalWorkflow>) -> GoalWaitEnd {
        match self.pool.next_unless(ctx, |state| !state.inbox.is_empty()).await {
            Some(PoolEnd::Run(run, report)) => {
                GoalWaitEnd::Reported(run, (*report).unwrap_or_else(|error| unreported(&error)))
            }
            Some(PoolEnd::Alarm(due)) => {
                self.reached = self.reached.max(due);
                self.alarm = None;
                GoalWaitEnd::Passed
            }
            Some(PoolEnd::Notification) => {
                self.notifications -= 1;
                GoalWaitEnd::Passed
            }
            Some(PoolEnd::Cancel | PoolEnd::Silence) => GoalWaitEnd::Passed,
            Some(PoolEnd::Cancelled) => GoalWaitEnd::Acted(GoalAct::Recall { cancels: true }),
            None => {
                let act = ctx.state_mut(|state| state.inbox.pop_front());
                act.map_or(GoalWaitEnd::Passed, GoalWaitEnd::Acted)
            }
        }
    }
}

/// Returns the report on a run no worker can report on, however often it is tried.
fn unreported(error: &ActivityExecutionError) -> RunReport {
    let end = ReconciliationRunEnd::failure(format!("nobody can tell how the run ended: {error}"));
    RunReport::Ended { end, tree: None }
}

/// Has the goal act.
async fn keep<T>(
    ctx: &WorkflowContext<GoalWorkflow>,
    act: impl FnOnce(&mut GoalKeeper) -> Result<T, DriverError>,
) -> T {
    let acted = ctx.state_mut(|state| state.keeper.as_mut().map_or(Err(DriverError::Closed), act));
    sure(ctx, acted).await
}

async fn wait_for_run(
    ctx: WorkflowContext<GoalWorkflow>,
    errand: RunErrand,
) -> Result<RunReport, ActivityExecutionError> {
    let verb = if errand.is_waiting { "await" } else { "run" };
    let options = ActivityOptions::with_start_to_close_timeout(LONGEST_RUN)
        .summary(format!("{verb} {}", errand.run.short()))
        .heartbeat_timeout(HEARTBEAT)
        .retry_policy(RetryPolicy::builder().maximum_interval(LONGEST_PAUSE).build())
        .cancellation_token(WorkflowCancellationToken::new())
        .build();
    ctx.execute_activity(GoalActivities::run, errand, options).await
}

async fn cancel(ctx: WorkflowContext<GoalWorkflow>, run: RunId) {
    let options = ActivityOptions::with_start_to_close_timeout(GoalActivities::TIMEOUT)
        .retry_policy(RetryPolicy::builder().maximum_interval(LONGEST_PAUSE).build())
        .cancellation_token(WorkflowCancellationToken::new())
        .build();
    // It has no end but its success.
    let _ = ctx.execute_activity(GoalActivities::cancel, run, options).await;
}

async fn notify(ctx: WorkflowContext<GoalWorkflow>, errand: NotificationErrand) {
    let options = ActivityOptions::with_start_to_close_timeout(GoalActivities::NOTIFICATION_TIMEOUT)
        .heartbeat_timeout(HEARTBEAT)
        .retry_policy(RetryPolicy::builder().maximum_attempts(GoalActivities::NOTIFICATION_TRIES).build())
        .cancellation_token(WorkflowCancellationToken::new())
        .build();
    // The worker has noted why it could not be sent.
    let _ = ctx.execute_activity(GoalActivities::notify, errand, options).await;
}
