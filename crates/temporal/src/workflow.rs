//! The workflow of a run: it waits, and passes on what happens.
#![expect(missing_docs, reason = "the macro makes constants of the methods")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityCancellationType, ActivityExecutionError, ActivityOptions, ContinueAsNewOptions,
    SyncWorkflowContext, TimerOptions, WorkflowCancellationToken, WorkflowContext, WorkflowContextView,
    WorkflowResult,
};

use wf_base::time::Moment;
use wf_core::machine::RunOutcome;
use wf_core::run_ledgers::BudgetRefusal;

use crate::activities::WorkActivities;
use crate::command::{DriverCommand, Occurrence, RunTimer};
use crate::driver::RunDriver;
use crate::lock_activities::{LockActivities, LockErrand};
use crate::lock_queue::{LockMessage, LockNotice};
use crate::objects::Objects;
use crate::order::{RequestAnswer, RunNews, RunOrder, RunSpec, WorkOrder, WorkReport, WorkWish};
use crate::plan::{RunPlans, require_approver};
use crate::pool::Pool;
use crate::progress::{DriverError, require_own_rules};
use crate::work_ledgers::OrderClaim;

/// The longest time that work is silent before its worker counts as lost.
pub const HEARTBEAT: Duration = Duration::from_secs(10);

/// The longest time that one piece of work takes: the limits of steps are shorter, and no other is needed.
const LONGEST_WORK: Duration = Duration::from_hours(30 * 24);

/// The beginning of the names of task queues that one worker alone has.
pub const HOST_QUEUE: &str = "wf-host-";

/// The time that a worker has to take work that only it can do, before it counts as lost.
const HOST_PATIENCE: Duration = Duration::from_secs(20);

/// The number of events after which a history begins anew, whatever the server suggests.
const HISTORY_EVENTS: u32 = 8_000;

/// A run as a workflow.
#[workflow]
pub struct RunWorkflow {
    objects: Objects,
    plans: Arc<RunPlans>,
    inbox: VecDeque<OutsideMessage>,
    driver: Option<RunDriver>,
    spec: Option<Arc<RunSpec>>,
}

/// A message from outside.
enum OutsideMessage {
    Cancel(String),
    Answer(RequestAnswer),
    Lock(LockNotice),
}

/// An end in the workflow.
enum Ended {
    Work(u64, Box<Result<WorkReport, ActivityExecutionError>>),
    Told(u64),
    Timer(RunTimer, Moment),
    Grace,
    Cancelled,
}

impl RunWorkflow {
    /// Creates a workflow that has not begun.
    pub fn new(objects: Objects, plans: Arc<RunPlans>) -> Self {
        Self { objects, plans, inbox: VecDeque::new(), driver: None, spec: None }
    }

    fn open(&mut self, order: RunOrder) -> Result<(), DriverError> {
        let spec: Arc<RunSpec> = Arc::new(self.objects.get_json_now(&order.spec)?);
        require_own_rules(spec.logic_version)?;
        let plan = self.plans.plan(&order.spec, &spec).ok_or(DriverError::Plan)?;
        self.driver = Some(RunDriver::open(order, Arc::clone(&spec), plan, self.objects.clone())?);
        self.spec = Some(spec);
        Ok(())
    }
}

#[workflow_methods(factory_only)]
impl RunWorkflow {
    /// Lets the run go on until it is over, or until its history begins anew.
    #[run(name = "wf.run.v1")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, order: RunOrder) -> WorkflowResult<RunOutcome> {
        sure(ctx, ctx.state_mut(|state| state.open(order))).await;
        let mut at = now(ctx);
        let mut commands = drive(ctx, |driver| driver.begin(at)).await;
        let mut waits = Waits::new(ctx);
        loop {
            for command in commands.drain(..) {
                waits.begin(ctx, at, command);
            }
            if let Some(outcome) = drive(ctx, |driver| Ok(driver.outcome())).await {
                return Ok(outcome);
            }
            if ctx.continue_as_new_suggested() || ctx.history_length() > HISTORY_EVENTS {
                for command in drive(ctx, |driver| Ok(driver.drain())).await {
                    waits.begin(ctx, at, command);
                }
                let is_idle = drive(ctx, |driver| Ok(driver.is_idle())).await;
                if is_idle && ctx.state(|state| state.inbox.is_empty()) {
                    let order = drive(ctx, RunDriver::store).await;
                    ctx.continue_as_new(order, ContinueAsNewOptions::default())?;
                }
            }
            let occurrence = waits.next(ctx).await;
            // A worker that takes a run over may be told the time of its last decision: before a timer that went off since.
            at = now(ctx).max(waits.reached);
            commands = drive(ctx, |driver| driver.step(at, occurrence)).await;
        }
    }

    /// Asks the run to end; a second time, at once.
    #[signal(name = "cancel")]
    pub fn cancel(&mut self, _: &mut SyncWorkflowContext<Self>, reason: String) {
        self.inbox.push_back(OutsideMessage::Cancel(reason));
    }

    /// Takes what a named lock says.
    #[signal(name = "lock")]
    pub fn lock(&mut self, _: &mut SyncWorkflowContext<Self>, notice: LockNotice) {
        self.inbox.push_back(OutsideMessage::Lock(notice));
    }

    /// Refuses an answer that nobody waits for, or that no approver of the run has signed.
    #[update_validator(answer)]
    fn check_answer(
        &self,
        _: &WorkflowContextView,
        answer: &RequestAnswer,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let (Some(driver), Some(spec)) = (&self.driver, &self.spec) else {
            return Err("the run has not begun".into());
        };
        if !driver.is_asking(&answer.run, answer.request) {
            return Err(format!("the run does not wait for an answer to request {}", answer.request).into());
        }
        require_approver(spec, &answer.token).map_err(Into::into)
    }

    /// Takes the answer of an approver.
    #[update(name = "answer")]
    pub fn answer(&mut self, _: &mut SyncWorkflowContext<Self>, answer: RequestAnswer) {
        self.inbox.push_back(OutsideMessage::Answer(answer));
    }

    /// Refuses a claim of work that is not under way any more.
    #[update_validator(claim)]
    fn check_claim(
        &self,
        _: &WorkflowContextView,
        claim: &OrderClaim,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let is_under_way = self.driver.as_ref().is_some_and(|driver| driver.is_under_way(claim.key));
        if is_under_way { Ok(()) } else { Err("nobody waits for this work any more".into()) }
    }

    /// Sets an amount aside for the calls of some work. Returns the refusal, if a budget does not suffice.
    #[update(name = "claim")]
    pub fn claim(&mut self, _: &mut SyncWorkflowContext<Self>, claim: OrderClaim) -> Option<BudgetRefusal> {
        let OrderClaim { key, claim } = claim;
        self.driver.as_mut().and_then(|driver| driver.claim(key, claim))
    }

    /// Returns the wish about some work.
    #[query(name = "wish")]
    pub fn wish(&self, _: &WorkflowContextView, key: u64) -> WorkWish {
        self.driver.as_ref().map_or(WorkWish::GoOn, |driver| driver.wish(key))
    }

    /// Returns what whoever follows the run needs to know.
    #[query(name = "news")]
    pub fn news(&self, _: &WorkflowContextView, (): ()) -> Option<RunNews> {
        self.driver.as_ref().and_then(|driver| driver.news().ok())
    }
}

/// The waits of the workflow. They do not end if it is cancelled, as an operator of the server may: that is an occurrence
/// like others, and what follows from it is waited for.
struct Waits {
    pool: Pool<Ended>,
    stops: BTreeMap<u64, WorkflowCancellationToken>,
    timers: u64,
    /// The latest instant of all timers that went off.
    reached: Moment,
}

impl Waits {
    fn new(ctx: &WorkflowContext<RunWorkflow>) -> Self {
        let (ctx, mut pool) = (ctx.clone(), Pool::default());
        pool.insert(u64::MAX, async move {
            ctx.cancelled().await;
            Ended::Cancelled
        });
        Self { pool, stops: BTreeMap::new(), timers: 0, reached: Moment::default() }
    }

    fn begin(&mut self, ctx: &WorkflowContext<RunWorkflow>, at: Moment, command: DriverCommand) {
        match command {
            DriverCommand::Work { key, name, queue, order } => {
                let stop = WorkflowCancellationToken::new();
                self.stops.insert(key, stop.clone());
                let work = work(ctx.clone(), stop, format!("{key} {name}"), queue, *order);
                self.pool.insert(key << 1, work.map(move |report| Ended::Work(key, Box::new(report))));
            }
            DriverCommand::Tell { key, lock, message } => {
                let errand = LockErrand { lock, message };
                self.pool.insert(key << 1, tell(ctx.clone(), key, errand).map(move |()| Ended::Told(key)));
            }
            DriverCommand::Wake { at: due, timer } => {
                self.sleep(ctx, due.since(at), Ended::Timer(timer, due));
            }
            DriverCommand::Grace { at: due } => self.sleep(ctx, due.since(at), Ended::Grace),
            DriverCommand::Stop { key } => {
                if let Some(stop) = self.stops.get(&key) {
                    stop.cancel();
                }
            }
        }
    }

    fn sleep(&mut self, ctx: &WorkflowContext<RunWorkflow>, wait: Duration, ended: Ended) {
        self.timers += 1;
        let options = TimerOptions::builder(wait).cancellation_token(WorkflowCancellationToken::new());
        let (ctx, options) = (ctx.clone(), options.build());
        self.pool.insert(self.timers << 1 | 1, async move {
            ctx.timer(options).await;
            ended
        });
    }

    /// Waits for the next occurrence.
    async fn next(&mut self, ctx: &WorkflowContext<RunWorkflow>) -> Occurrence {
        match self.pool.next_unless(ctx, |state| !state.inbox.is_empty()).await {
            Some(Ended::Work(key, report)) => {
                self.stops.remove(&key);
                let report = match *report {
                    Ok(report) => report,
                    Err(ActivityExecutionError::Cancelled(_)) => return Occurrence::Unbegun { key },
                    Err(_) => return Occurrence::Lost { key },
                };
                let objects = ctx.state(|state| state.objects.clone());
                let report = sure(ctx, report.open_now(&objects).map_err(DriverError::from)).await;
                Occurrence::Reported { key, report: Box::new(report) }
            }
            Some(Ended::Told(key)) => Occurrence::Told { key },
            Some(Ended::Timer(timer, due)) => {
                self.reached = self.reached.max(due);
                Occurrence::Woke(timer)
            }
            Some(Ended::Grace) => Occurrence::GraceOver,
            Some(Ended::Cancelled) => Occurrence::Cancel("cancelled on the Temporal server".into()),
            None => match ctx.state_mut(|state| state.inbox.pop_front()) {
                Some(OutsideMessage::Answer(answer)) => Occurrence::Answered(answer),
                Some(OutsideMessage::Lock(notice)) => Occurrence::Lock(notice),
                Some(OutsideMessage::Cancel(reason)) => Occurrence::Cancel(reason),
                None => Occurrence::Nothing,
            },
        }
    }
}

/// Has the driver act.
async fn drive<T>(
    ctx: &WorkflowContext<RunWorkflow>,
    act: impl FnOnce(&mut RunDriver) -> Result<T, DriverError>,
) -> T {
    let acted = ctx.state_mut(|state| state.driver.as_mut().map_or(Err(DriverError::Closed), act));
    sure(ctx, acted).await
}

/// Returns a result. Without one, the task of the workflow fails, and is tried again later, maybe by a worker that can do
/// better: the run itself is as it was.
pub(crate) async fn sure<W, T>(
    ctx: &WorkflowContext<W>,
    result: Result<T, impl std::error::Error + Send + Sync + 'static>,
) -> T {
    match result {
        Ok(value) => value,
        Err(error) => {
            ctx.force_task_fail(error);
            std::future::pending().await
        }
    }
}

/// Has work done, however often its worker is lost. Work that is told to end ends with a report of that; without one it
/// was never begun.
async fn work(
    ctx: WorkflowContext<RunWorkflow>,
    stop: WorkflowCancellationToken,
    id: String,
    queue: String,
    order: WorkOrder,
) -> Result<WorkReport, ActivityExecutionError> {
    // A host that is gone does not come back under its name.
    let patience = queue.starts_with(HOST_QUEUE).then_some(HOST_PATIENCE);
    let options = ActivityOptions::with_start_to_close_timeout(LONGEST_WORK)
        .maybe_schedule_to_start_timeout(patience)
        .activity_id(id)
        .task_queue(queue)
        .heartbeat_timeout(HEARTBEAT)
        .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
        .cancellation_token(stop)
        .build();
    ctx.execute_activity(WorkActivities::work, order, options).await
}

/// Has a named lock told something, however often its worker is lost.
async fn tell(ctx: WorkflowContext<RunWorkflow>, key: u64, errand: LockErrand) {
    let verb = if matches!(errand.message, LockMessage::Acquire(_)) { "acquire" } else { "release" };
    let options = ActivityOptions::with_start_to_close_timeout(LockActivities::TIMEOUT)
        .activity_id(format!("{key} {verb} {}", errand.lock))
        .cancellation_token(WorkflowCancellationToken::new())
        .build();
    // It has no end but its success.
    let _ = ctx.execute_activity(LockActivities::tell, errand, options).await;
}

/// Returns the time, the same whenever the history is replayed.
pub(crate) fn now<W>(ctx: &WorkflowContext<W>) -> Moment {
    let since = ctx.workflow_time().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let millis = since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    Moment::from_millis(millis)
}
