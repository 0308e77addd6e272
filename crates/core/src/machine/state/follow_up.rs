//! The follow-ups of a room's decision in another room.
//!
//! A room leaves them with `Run::then` as its last act; the turn carries them out, in order, and those of each
//! before the next, as if the room had called.

use std::time::Duration;

use crate::machine::{
    state::{
        TaskIx, fold::task_end::TaskCompletion, parts::gates::PendingApproval, task_phase::TaskActivity,
    },
    words::{Attempt, AttemptEnd, ExchangeQuestion, GatePoint, ReworkLoop, Standing, WorkExit},
};
use wf_model::{CheckPhase, FailureClass, JsonObject};

/// The work after a decision, for its room.
#[derive(Clone, Debug)]
pub(in crate::machine) enum FollowUp {
    // Of `tasks`.
    /// Begins the next attempt of a task.
    StartAttempt(TaskIx),
    /// Applies the end of an attempt's work.
    EndAttempt(Box<AttemptEnd>),
    /// Lets the step's `retry` decide about another attempt after `made` of them.
    RetryOrFail { task: TaskIx, made: u32, asked: Option<Duration>, completion: TaskCompletion },
    /// Ends a task after its last attempt, unless people may be asked.
    FailOrAsk { task: TaskIx, made: u32, completion: TaskCompletion },
    /// Begins another attempt since a phase of checks failed.
    BeginRework {
        task: TaskIx,
        made: u32,
        looped: ReworkLoop,
        failure_class: Option<FailureClass>,
        reason: String,
    },
    /// Begins another attempt since people guide it; without the budget for it, the task fails.
    RetryGuided { task: TaskIx, made: u32, reason: String, completion: TaskCompletion },
    /// Begins another attempt since a gate wants one.
    ScheduleAttempt { attempt: Attempt, reason: String },
    /// Ends a task.
    EndTask { task: TaskIx, completion: TaskCompletion },
    /// Lets the recorded failure of a task stop the others.
    StopOthers(TaskIx),
    /// Ends a repeated step if its last item has ended.
    EndRepeatedStep(u32),
    /// Ends every barred step, and running work if it must end.
    Sweep,
    /// Ends the work of a task, if it may not go on.
    HaltTask { task: TaskIx, activity: TaskActivity },
    /// Ends the work of a halted task.
    StopWork { task: TaskIx, activity: TaskActivity },
    /// Tells running work to end.
    KillWork { task: TaskIx, activity: TaskActivity },
    /// Lets the gates look at the outputs of a successful run.
    Publish,
    /// Begins the `finally` steps, or the end of the run.
    BeginFinally,
    /// Ends the run.
    EndRun,
    // Of `agents`.
    /// Asks the planner about a failed attempt.
    AskPlanner { task: TaskIx, made: u32, reason: String },
    /// Asks people about a stuck task.
    AskPeople { task: TaskIx, made: u32, completion: TaskCompletion },
    /// Ends an agent waiting for child runs.
    EndAgent { attempt: Attempt, exit: WorkExit },
    /// Keeps the end of an agent until its child runs have ended.
    HoldForChildren { task: TaskIx, end: Box<AttemptEnd> },
    // Of `gates`.
    /// Asks the gates at a point.
    AskGates { task: Option<TaskIx>, point: GatePoint, exchange: Option<Box<ExchangeQuestion>> },
    /// Asks people for the decision of a step.
    AskStep(TaskIx),
    // Of `proof`.
    /// Lets the checks of an attempt decide.
    ConfirmWork { task: TaskIx, attempt: Attempt, standing: Option<Standing> },
    /// Lets the checks of the attempt under way decide, after its gates.
    ConfirmResult(TaskIx),
    /// Sends work back since a phase of checks failed.
    Rework { task: TaskIx, made: u32, phase: CheckPhase, failure_class: Option<FailureClass>, reason: String },
    /// Asks for the plan's own checks.
    CheckPlan,
    /// Ends the run once its evidence is confirmed.
    Conclude,
    // Of `rounds`.
    /// Judges the ended round.
    JudgeRound,
    // Of whichever room waits for it.
    /// Asks again for the activity of a task, and, if it was `approved`, for an early answer.
    ResumeActivity { task: TaskIx, approved: bool },
    /// Continues with the work of a granted request.
    ApplyGrant { pending: Box<PendingApproval>, outputs: JsonObject },
    /// Ends the work of a refused request.
    ApplyRefusal { pending: Box<PendingApproval>, reason: String },
}
