//! The inputs of the machine: occurrences, and their results.

use serde::{Deserialize, Serialize};

use crate::{
    gate::GateOutcome,
    machine::words::{
        AgentBriefing, ApprovalOutcome, Artifact, Attempt, AttemptEnd, Baseline, CheckVerdict, ChildEnd,
        ClientCall, CompactionReply, EventKind, GatePoint, GatedExchange, GuidanceReply, IntentAdvice,
        MergeEnd, MergePreparation, ModelCallEnd, PlanGeneration, PlanReply, ReusedResult, RunApproval,
        ShownContent, StaleFile, TaskId, TimerKind, ToolAdvice, ToolCallEnd, ToolCallId, WorkExit,
    },
};
use wf_base::{
    digest::Sha256Digest,
    keywords,
    name::{Name, RunId},
    time::Moment,
};
use wf_model::{CheckPhase, JsonObject};

/// An occurrence, with its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineInput {
    /// The time.
    pub at: Moment,
    /// The occurrence.
    #[serde(flatten)]
    pub kind: InputKind,
}

/// An occurrence, an input of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum InputKind {
    /// The run is to begin. `kept` are results reused from an earlier run, `left` are the parts the user
    /// chose not to run, `baseline` the workspace as it is.
    Begin {
        /// The reused results, in plan order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<ReusedResult>,
        /// The parts left out, in plan order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<DeselectedStep>,
        /// Results not reused, since they have changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        dropped: Vec<DiscardedResult>,
        /// The workspace as it is, if the work in it is judged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        baseline: Option<Baseline>,
        /// The approval of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved: Option<Box<RunApproval>>,
        /// The advice from memory on how its steps are done.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        advice: Vec<ToolAdvice>,
        /// The advice from memory on its intent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        intent: Option<IntentAdvice>,
    },
    /// An agent is ready to begin, or to go on. Answers [`Effect::Start`](super::Effect::Start) and
    /// [`Effect::Watch`](super::Effect::Watch) of its attempt.
    Briefed {
        /// The briefing.
        briefing: Box<AgentBriefing>,
        /// The mistake in its last answer, if it goes on and has given one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mistake: Option<String>,
    },
    /// A model call ended. Answers [`Effect::CallModel`](super::Effect::CallModel).
    Replied {
        /// The end.
        end: Box<ModelCallEnd>,
        /// The mistake in the answer, if it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mistake: Option<String>,
    },
    /// A tool call ended. Answers [`Effect::CallTool`](super::Effect::CallTool).
    ToolEnded(ToolCallEnd),
    /// The program of an agent calls the model. Answers [`Effect::ServeClient`](super::Effect::ServeClient).
    ClientCalled {
        /// The attempt.
        attempt: Attempt,
        /// The call.
        call: ClientCall,
        /// The ends of the tool calls before, as far as the request has their results.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tools: Vec<ToolCallEnd>,
    },
    /// The program of an agent ended. Answers [`Effect::ServeClient`](super::Effect::ServeClient).
    ClientEnded {
        /// The attempt.
        attempt: Attempt,
        /// The exit.
        exit: WorkExit,
        /// The digest of its answer, if it gave one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Sha256Digest>,
        /// The mistake in the answer, to be repaired.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mistake: Option<String>,
    },
    /// A child run of an agent ended. Answers [`Effect::StartChild`](super::Effect::StartChild).
    ChildEnded(Box<ChildEnd>),
    /// The work of an attempt ended. Answers [`Effect::Start`](super::Effect::Start).
    Ended(AttemptEnd),
    /// A generated plan was read and stored. Answers [`Effect::Start`](super::Effect::Start) and
    /// [`Effect::Watch`](super::Effect::Watch) of its attempt.
    Generated(PlanGeneration),
    /// The merge of an agent's changes was computed. Answers [`Effect::PrepareMerge`](super::Effect::PrepareMerge).
    MergePrepared {
        /// The attempt.
        attempt: Attempt,
        /// The merge.
        merge: MergePreparation,
    },
    /// The files of a merge were written, or not. Answers [`Effect::Merge`](super::Effect::Merge).
    Merged(MergeEnd),
    /// All checks of a phase have been run. Answers [`Effect::Check`](super::Effect::Check).
    Judged {
        /// The attempt; `None`: the plan's own criteria.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<Attempt>,
        /// The phase; absent: `verify`.
        #[serde(default, skip_serializing_if = "CheckPhase::is_default")]
        phase: CheckPhase,
        /// One verdict per criterion, in their order.
        verdicts: Vec<CheckVerdict>,
        /// The files of the attempt's evidence, as they were before and after the checks; the
        /// plan's own criteria have none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seen: Vec<Artifact>,
    },
    /// A timer went off. Answers [`Effect::Wake`](super::Effect::Wake).
    Woke {
        /// The timer.
        timer: TimerKind,
    },
    /// The locks of a task are now held for it. Answers [`Effect::Lock`](super::Effect::Lock).
    Locked {
        /// The task.
        #[serde(rename = "place")]
        task_id: TaskId,
    },
    /// Another task holds a lock of a waiting task. Comes before [`InputKind::Locked`], for a task with files only.
    LockHeld {
        /// The task.
        #[serde(rename = "place")]
        task_id: TaskId,
    },
    /// A task does not get its lock, and does not wait for it. Answers [`Effect::Lock`](super::Effect::Lock).
    LockRefused {
        /// The task.
        #[serde(rename = "place")]
        task_id: TaskId,
        /// The reason, for the record.
        reason: String,
        /// True if a newer run waits in its place: the run is cancelled. Else the task fails.
        is_replaced: bool,
    },
    /// The cache was looked up. Answers [`Effect::Lookup`](super::Effect::Lookup).
    Looked {
        /// The task.
        #[serde(rename = "place")]
        task_id: TaskId,
        /// The cached result, if there is one.
        found: Option<CachedResult>,
    },
    /// A file of a task's evidence changed since the task was checked.
    Stale(StaleFile),
    /// Evidence was checked again. Answers [`Effect::Confirm`](super::Effect::Confirm).
    Confirmed {
        /// The stale evidence: at most one file for each task.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        stale: Vec<StaleFile>,
    },
    /// The gates at a point were asked. Answers [`Effect::Gate`](super::Effect::Gate).
    Gated {
        /// The task; `None`: the gates of the run.
        #[serde(rename = "place", default, skip_serializing_if = "Option::is_none")]
        task_id: Option<TaskId>,
        /// The gate point.
        point: GatePoint,
        /// Their results.
        #[serde(flatten)]
        gated: GateOutcome,
        /// The tool call of an agent in question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_call: Option<ToolCallId>,
        /// The arguments of the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<Box<ShownContent>>,
        /// The part of an agent's conversation in question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exchange: Option<Box<GatedExchange>>,
    },
    /// A request for approval was resolved. Answers [`Effect::Ask`](super::Effect::Ask).
    Answered {
        /// The number of the request.
        number: u32,
        /// The resolution.
        #[serde(flatten)]
        given: ApprovalOutcome,
    },
    /// The planner was asked. Answers [`Effect::Plan`](super::Effect::Plan).
    Planned(PlanReply),
    /// The planner was asked about a step. Answers [`Effect::Guide`](super::Effect::Guide).
    Guided(GuidanceReply),
    /// The compactor was asked. Answers [`Effect::Compact`](super::Effect::Compact).
    Compacted(Box<CompactionReply>),
    /// Cancellation is requested. A second request kills running work at once.
    Cancel {
        /// The requester or the reason, for the record.
        reason: String,
    },
}

/// The result of asking a planner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannerReply {
    /// The planner's output.
    Text(String),
    /// The reason why no output counts.
    Nothing(String),
}

impl From<PlannerReply> for Result<String, String> {
    fn from(reply: PlannerReply) -> Self {
        match reply {
            PlannerReply::Text(text) => Ok(text),
            PlannerReply::Nothing(reason) => Err(reason),
        }
    }
}

/// A changed result of an earlier run: its step runs again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscardedResult {
    /// The step.
    pub step: Name,
    /// The key of one of its items; `None`: the whole step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The difference, phrased to follow "it runs again: ".
    pub reason: String,
    /// The original run.
    pub from: RunId,
}

/// A step left out of a run by choice, or all but some of its items.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DeselectedStep {
    /// The step.
    pub step: Name,
    /// The keys of the chosen items; empty: the whole step is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except_items: Vec<String>,
}

/// A cached result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CachedResult {
    /// The matching key.
    pub cache_key: Sha256Digest,
    /// The original run.
    pub reused_from: RunId,
    /// Its outputs.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub outputs: JsonObject,
    /// Its artifacts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
}

/// A file of a stored result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedFile {
    /// The path, relative to the workspace.
    pub path: String,
    /// SHA-256 of the content, and its key in the store.
    pub digest: Sha256Digest,
    /// The size in bytes.
    pub size: u64,
    /// The permission bits.
    pub mode: u32,
    /// The kind, if it is not a regular file.
    #[serde(default, skip_serializing_if = "CachedFileKind::is_file")]
    pub kind: CachedFileKind,
}

/// The kind of a file of a stored result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CachedFileKind {
    /// A regular file.
    #[default]
    File,
    /// A link: its content is its target.
    Link,
    /// A folder without anything in it, and without content.
    Folder,
}

impl CachedFileKind {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_file(&self) -> bool {
        *self == Self::File
    }
}

keywords! {
    /// The outcome of a run.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum RunOutcome {
        /// Every required step succeeded, and so did the plan's own criteria.
        Succeeded = "succeeded",
        /// A step or criterion failed.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
        /// It failed, and the controller has nothing left to try.
        Abandoned = "abandoned",
    }
}

impl InputKind {
    /// True if it answers the preparation of a task's next attempt; see [`Effect::prepares`].
    ///
    /// [`Effect::prepares`]: super::Effect::prepares
    pub fn prepares(&self) -> bool {
        matches!(
            self,
            Self::Locked { .. }
                | Self::LockHeld { .. }
                | Self::LockRefused { .. }
                | Self::Looked { .. }
                | Self::Gated { task_id: Some(_), tool_call: None, exchange: None, .. }
        )
    }
}

impl From<DiscardedResult> for EventKind {
    fn from(dropped: DiscardedResult) -> Self {
        let DiscardedResult { step, item, reason, from } = dropped;
        Self::ResultDropped { step, item_key: item, reason, reused_from: from }
    }
}
