//! The waits of the workflow of a run, and what is taken from their ends.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures::FutureExt as _;
use temporalio_sdk::{
    ActivityCancellationType, ActivityExecutionError, ActivityOptions, TimerOptions,
    WorkflowCancellationToken, WorkflowContext,
};

use wf_base::time::Moment;

use crate::{
    locks::queue::LockMessage,
    messages::{
        command::{DriverCommand, Occurrence, RunTimer},
        order::{WorkOrder, WorkReport},
    },
    run::progress::DriverError,
    workflows::{
        activities::WorkActivities,
        lock_workflow::{LockActivities, LockErrand},
        pool::{Pool, PoolOrder},
        workflow::{OutsideMessage, RunWorkflow, sure},
    },
};

/// The longest time that work is silent before its worker counts as lost.
pub const HEARTBEAT: Duration = Duration::from_secs(10);

/// The longest time that one piece of work takes: the limits of steps are shorter, and no other is needed.
const LONGEST_WORK: Duration = Duration::from_hours(30 * 24);

/// The beginning of the names of task queues that one worker alone has.
pub const HOST_QUEUE: &str = "wf-host-";

/// The time a worker has to take work that only it can do, before it counts as lost.
const HOST_PATIENCE: Duration = Duration::from_secs(20);

/// The number of events after which a history begins anew, against any suggestion of the server.
const HISTORY_EVENTS: u32 = 8_000;

/// The beginning of the mark of a history that is to begin anew, before the number of occurrences until then.
const LONG: &str = "wf-long-";

/// An end in the workflow.
enum Ended {
    Work(u64, Box<Result<WorkReport, ActivityExecutionError>>),
    Told(u64),
    Timer(RunTimer, Moment),
    Grace(Moment),
    Cancelled,
}

/// An occurrence, and when it was.
pub(crate) struct TimedOccurrence {
    pub(crate) at: Moment,
    pub(crate) occurrence: Occurrence,
}

/// The waits of the workflow. They do not end if it is cancelled, as an operator of the server may: that is an occurrence
/// like others, and what follows from it is waited for.
pub(crate) struct Waits {
    order: PoolOrder,
    pool: Pool<Ended>,
    stops: BTreeMap<u64, WorkflowCancellationToken>,
    timers: u64,
    /// The latest instant of all fired timers.
    reached: Moment,
    /// The number of taken occurrences.
    taken: u64,
    /// True if it was noted that the history is to begin anew.
    is_long: bool,
}

impl Waits {
    pub(crate) fn new(ctx: &WorkflowContext<RunWorkflow>, order: PoolOrder) -> Self {
        let (ctx, mut pool) = (ctx.clone(), Pool::new(order));
        pool.insert(u64::MAX, async move {
            ctx.cancelled().await;
            Ended::Cancelled
        });
        let (stops, reached) = (BTreeMap::new(), Moment::default());
        Self { order, pool, stops, timers: 0, reached, taken: 0, is_long: false }
    }

    /// True if the history is to begin anew. A worker may be told of that after one end or after the next, so it is noted in the
    /// history when it was, and a replay follows the note.
    pub(crate) fn is_long(&mut self, ctx: &WorkflowContext<RunWorkflow>) -> bool {
        let is_long = ctx.continue_as_new_suggested() || ctx.history_length() > HISTORY_EVENTS;
        if self.order == PoolOrder::Number {
            return is_long;
        }
        self.is_long = self.is_long || is_long && ctx.patched(&format!("{LONG}{}", self.taken));
        self.is_long
    }

    /// Carries out a driver's commands at an instant.
    pub(crate) fn begin(&mut self, ctx: &WorkflowContext<RunWorkflow>, at: Moment, command: DriverCommand) {
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
                self.sleep(ctx, at, due, Ended::Timer(timer, due));
            }
            DriverCommand::Grace { at: due } => self.sleep(ctx, at, due, Ended::Grace(due)),
            DriverCommand::Stop { key } => {
                if let Some(stop) = self.stops.get(&key) {
                    stop.cancel();
                    self.pool.prompt(key << 1);
                }
            }
        }
    }

    /// Waits until an instant that is due, from another one or from now if that is later.
    fn sleep(&mut self, ctx: &WorkflowContext<RunWorkflow>, at: Moment, due: Moment, ended: Ended) {
        self.timers += 1;
        let wait = due.since(at.max(now(ctx)));
        let options = TimerOptions::builder(wait).cancellation_token(WorkflowCancellationToken::new());
        let (ctx, options) = (ctx.clone(), options.build());
        self.pool.insert(self.timers << 1 | 1, async move {
            ctx.timer(options).await;
            ended
        });
    }

    /// Returns the next occurrence if the history has it already; `None`: it has none, or the order of the ends is not that
    /// of the history.
    pub(crate) async fn ready(&mut self, ctx: &WorkflowContext<RunWorkflow>) -> Option<TimedOccurrence> {
        if self.order != PoolOrder::History {
            return None;
        }
        match self.pool.take_result() {
            Some(ended) => Some(self.take(ctx, ended).await),
            None if ctx.state(RunWorkflow::has_message) => Some(self.take_message(ctx)),
            None => None,
        }
    }

    pub(crate) async fn next(&mut self, ctx: &WorkflowContext<RunWorkflow>) -> TimedOccurrence {
        match self.pool.next_unless(ctx, RunWorkflow::has_message).await {
            Some(ended) => self.take(ctx, ended).await,
            None => self.take_message(ctx),
        }
    }

    async fn take(&mut self, ctx: &WorkflowContext<RunWorkflow>, ended: Ended) -> TimedOccurrence {
        let mut at = None;
        let occurrence = match ended {
            Ended::Work(key, report) => {
                self.stops.remove(&key);
                match *report {
                    Ok(report) => {
                        let objects = ctx.state(|state| state.objects().clone());
                        let report = sure(ctx, report.open_now(&objects).map_err(DriverError::from)).await;
                        at = report.ended;
                        Occurrence::Reported { key, report: Box::new(report) }
                    }
                    Err(ActivityExecutionError::Cancelled(_)) => Occurrence::Unbegun { key },
                    Err(_) => Occurrence::Lost { key },
                }
            }
            Ended::Told(key) => Occurrence::Told { key },
            Ended::Timer(timer, due) => {
                self.reached = self.reached.max(due);
                at = Some(due);
                Occurrence::Woke(timer)
            }
            Ended::Grace(due) => {
                at = Some(due);
                Occurrence::GraceOver
            }
            Ended::Cancelled => Occurrence::Cancel("cancelled on the Temporal server".into()),
        };
        self.timed(ctx, at, occurrence)
    }

    fn take_message(&mut self, ctx: &WorkflowContext<RunWorkflow>) -> TimedOccurrence {
        let occurrence = match ctx.state_mut(RunWorkflow::take_message) {
            Some(OutsideMessage::Answer(answer)) => Occurrence::Answered(answer),
            Some(OutsideMessage::Lock(notice)) => Occurrence::Lock(notice),
            Some(OutsideMessage::Cancel(reason)) => Occurrence::Cancel(reason),
            None => Occurrence::Nothing,
        };
        self.timed(ctx, None, occurrence)
    }

    /// Returns an occurrence with its time: when its work ended or it was due, else that of its workflow task, which a
    /// worker taking a run over may not know yet: then it is told that of the last decision.
    fn timed(
        &mut self,
        ctx: &WorkflowContext<RunWorkflow>,
        at: Option<Moment>,
        occurrence: Occurrence,
    ) -> TimedOccurrence {
        self.taken += 1;
        let own = at.filter(|_| self.order == PoolOrder::History);
        TimedOccurrence { at: own.unwrap_or_else(|| now(ctx).max(self.reached)), occurrence }
    }
}

/// Has work done, however often its worker is lost. Work told to end ends with a report of its end; without one it was
/// never begun.
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

/// Returns the time of the last workflow task, the same whenever the history is replayed.
pub(crate) fn now<W>(ctx: &WorkflowContext<W>) -> Moment {
    ctx.workflow_time().map_or_else(Moment::default, moment_of)
}

/// Returns an instant in milliseconds since 1970; an earlier one is 1970.
pub(crate) fn moment_of(time: SystemTime) -> Moment {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
