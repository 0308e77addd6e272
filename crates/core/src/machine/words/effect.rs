//! The effects carried out by the world for the machine. Each names its answer, an input.

use serde::{Deserialize, Serialize};

use crate::machine::words::{
    AgentEnding, AgentRecord, ApprovalRequest, Artifact, Attempt, AttemptFeedback, ChildId, ClientTurn,
    CompactionRequest, ExchangeQuestion, GatePoint, GuidanceRequest, MergeStart, ModelCall, PlanRequest,
    StepItem, TaskId, TaskLocks, ToolCallId, ToolOrder,
};
use wf_base::{digest::Sha256Digest, name::PlanId, time::Moment};
use wf_model::{CheckPhase, JsonObject};

/// An action for the engine, once the events of the same turn are durable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Execute a step's work. Answered by [`Ended`](super::AttemptEnd).
    Start {
        #[serde(flatten)]
        attempt: Attempt,
        /// The item, where the step is repeated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item_value: Option<StepItem>,
        /// The values read by the work's templates, by reference as written.
        #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
        reads: JsonObject,
        /// The feedback on the previous attempt, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        correction: Option<Box<AttemptFeedback>>,
        /// The arguments as rewritten by gates.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_args: Option<Box<serde_json::Value>>,
    },
    /// Run the checks of a phase: of an attempt with successful work, or the plan's own. Answered by
    /// [`Judged`](super::InputKind::Judged).
    Check {
        /// The attempt; `None`: the plan's own criteria.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<Attempt>,
        /// The phase; absent: `verify`.
        #[serde(default, skip_serializing_if = "CheckPhase::is_default")]
        phase: CheckPhase,
        /// The item, where the step is repeated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item_value: Option<StepItem>,
        /// The values read by the checks' templates.
        #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
        reads: JsonObject,
    },
    /// Ask the gates at a point. Answered by [`Gated`](super::InputKind::Gated).
    Gate(GateQuestion),
    /// Wait for an approval. Answered by [`Answered`](super::InputKind::Answered).
    Ask(Box<ApprovalRequest>),
    /// Ask the planner for alternatives of steps. Answered by
    /// [`Planned`](super::InputKind::Planned).
    Plan {
        /// The request to the planner.
        request: Box<PlanRequest>,
    },
    /// Stop waiting for an approval.
    Dismiss {
        /// The number of the request.
        number: u32,
    },
    /// Set a timer. Answered by [`Woke`](super::InputKind::Woke).
    Wake {
        timer: TimerKind,
        /// The instant at which it goes off.
        at: Moment,
    },
    /// Acquire the locks of a task, all at once, when they are free. Answered by
    /// [`Locked`](super::InputKind::Locked).
    Lock {
        #[serde(rename = "place")]
        task_id: TaskId,
        #[serde(flatten)]
        locks: TaskLocks,
    },
    /// Release the locks of a task, or stop waiting for them.
    Unlock {
        #[serde(rename = "place")]
        task_id: TaskId,
    },
    /// Look up the step's result in the cache. Answered by [`Looked`](super::InputKind::Looked).
    Lookup {
        #[serde(rename = "place")]
        task_id: TaskId,
        /// The item, where the step is repeated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item_value: Option<StepItem>,
        /// The values read by the work's templates, by reference as written.
        #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
        reads: JsonObject,
    },
    /// Store the result of a task for reuse.
    Remember {
        #[serde(rename = "place")]
        task_id: TaskId,
        #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
        outputs: JsonObject,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        artifacts: Vec<Artifact>,
    },
    /// Determine the state of an attempt under way when the engine died, and end it as
    /// [`Exit::Interrupted`](super::WorkExit::Interrupted) if its end is unknown. Also: begin a generated plan. Answered like
    /// [`Effect::Start`].
    Watch {
        #[serde(flatten)]
        attempt: Attempt,
        /// The start time of the attempt.
        since: Moment,
        /// The item, where the step is repeated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item_value: Option<StepItem>,
        /// The values read by the work's templates, by reference as written.
        #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
        reads: JsonObject,
        /// The feedback on the previous attempt, if there was one: work not begun yet is begun
        /// now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        correction: Option<Box<AttemptFeedback>>,
        /// The arguments as rewritten by gates.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_args: Option<Box<serde_json::Value>>,
        /// The progress of an agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<Box<AgentRecord>>,
        /// The digest of the text of its generated plan, if there is one and it may begin.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generated: Option<Sha256Digest>,
    },
    /// Call the model of an agent. Answered by [`Replied`](super::InputKind::Replied).
    CallModel(ModelCall),
    /// Execute a tool call of an agent. Answered by [`ToolEnded`](super::InputKind::ToolEnded).
    CallTool(ToolOrder),
    /// Begin a child run of an agent, or go on with it. Answered by [`ChildEnded`](super::InputKind::ChildEnded).
    StartChild {
        /// The child run.
        #[serde(flatten)]
        id: ChildId,
        plan: PlanId,
        /// Its resolved parameters.
        params: JsonObject,
    },
    /// Give the program of an agent the reply to its last request, if it waits for one, and wait until it makes the
    /// next or ends; start it if it does not run. Answered by [`ClientCalled`](super::InputKind::ClientCalled) and
    /// [`ClientEnded`](super::InputKind::ClientEnded).
    ServeClient(ClientTurn),
    /// Collect the results of an agent; end its program. Answered by [`Ended`](super::AttemptEnd).
    EndAgent(AgentEnding),
    /// Compute the merge of an attempt's worktree; write no file. Answered by
    /// [`MergePrepared`](super::InputKind::MergePrepared).
    PrepareMerge {
        #[serde(flatten)]
        attempt: Attempt,
    },
    /// Write the files of a merge, or the rest of them. Answered by [`Merged`](super::InputKind::Merged).
    Merge(Box<MergeStart>),
    /// End an attempt's work and child runs, or its checks, or the plan's own checks, or its planner.
    Kill {
        /// The attempt; `None`: the plan's own checks, or its planner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<Attempt>,
        /// True to kill without grace.
        force: bool,
    },
    /// Ask the planner about the failing attempts of a step. Answered by [`Guided`](super::InputKind::Guided).
    Guide {
        /// The question.
        request: Box<GuidanceRequest>,
    },
    /// Ask the compactor for the cut of a conversation. Answered by [`Compacted`](super::InputKind::Compacted).
    Compact {
        /// The question.
        request: Box<CompactionRequest>,
    },
    /// Check whether the files of the last evidence of tasks are unchanged. Answered by
    /// [`Confirmed`](super::InputKind::Confirmed).
    Confirm { places: Vec<TaskId> },
    /// The run is over.
    Finish {
        /// The plan's outputs.
        #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
        outputs: JsonObject,
    },
}

/// The gates to ask, and their subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateQuestion {
    /// The task; `None`: the gates of the run.
    #[serde(rename = "place", default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    pub point: GatePoint,
    /// The number of the attempt: the next one before its work, else the last.
    pub attempt: u32,
    /// The next attempt, if it is not the first of its round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
    /// The item, where the step is repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_value: Option<StepItem>,
    /// The values read by the templates of the work.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub reads: JsonObject,
    /// Its dependencies, with their outputs; for the run, all steps.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub steps: JsonObject,
    /// The outputs of the attempt, or of the run.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub outputs: JsonObject,
    /// The next tool call of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<ToolCallId>,
    /// The part of an agent's conversation in question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Box<ExchangeQuestion>>,
}

impl GateQuestion {
    /// Returns the attempt of the gates, to end them; `None`: they belong to the run.
    pub fn attempt(&self) -> Option<Attempt> {
        let task_id = self.task_id.clone()?;
        Some(Attempt { task_id, attempt: self.attempt })
    }
}

impl Effect {
    /// Returns its attempt; `None`: it is for the run, or is not work.
    pub fn attempt(&self) -> Option<Attempt> {
        match self {
            Self::Start { attempt, .. }
            | Self::Watch { attempt, .. }
            | Self::CallModel(ModelCall { attempt, .. })
            | Self::ServeClient(ClientTurn { attempt, .. })
            | Self::EndAgent(AgentEnding { attempt, .. })
            | Self::PrepareMerge { attempt } => Some(attempt.clone()),
            Self::Check { attempt, .. } => attempt.clone(),
            Self::CallTool(order) => Some(order.id.attempt.clone()),
            Self::StartChild { id, .. } => Some(id.attempt.clone()),
            Self::Merge(start) => Some(start.attempt.clone()),
            Self::Guide { request } => Some(request.attempt.clone()),
            Self::Compact { request } => Some(request.start.attempt.clone()),
            Self::Gate(question) => question.attempt(),
            _ => None,
        }
    }

    /// True if it prepares the next attempt of a task: once the controller reopens the task, it is
    /// not needed any more.
    pub fn prepares(&self) -> bool {
        match self {
            Self::Lock { .. } | Self::Lookup { .. } => true,
            Self::Gate(question) => question.task_id.is_some() && !question.is_of_agent(),
            Self::Wake { timer, .. } => matches!(timer, TimerKind::Queue(_)),
            _ => false,
        }
    }
}

/// The purpose of a timer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "timer", rename_all = "snake_case")]
pub enum TimerKind {
    /// The next attempt may begin.
    Retry(Attempt),
    /// The attempt's wait is over.
    Wait(Attempt),
    /// The time of an agent's attempt is over.
    Agent(Attempt),
    /// The task has waited too long for its turn.
    Queue(TaskId),
    /// The deadline for a decision is over.
    Ask {
        /// The number of the request.
        number: u32,
    },
    /// The run has taken too long.
    Run,
    /// A threshold of the budgeted time is reached, or all of it.
    Budget {
        /// The threshold, in milliseconds from the beginning of the run.
        ms: u64,
    },
}

impl GateQuestion {
    /// True if it is about a call of a working agent.
    pub fn is_of_agent(&self) -> bool {
        self.tool_call.is_some() || self.exchange.is_some()
    }
}
