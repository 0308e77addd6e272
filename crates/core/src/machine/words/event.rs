//! The facts of a run: each change of its state, as it is recorded.

use serde::{Deserialize, Serialize};

use crate::{
    gate::GateResult,
    health::BreakerNote,
    machine::words::{
        AgentBriefing, AgentExit, AlternativeSwitch, ApprovalOutcome, ApprovalRequest, Artifact, Attempt,
        AttemptUsage, Baseline, BudgetUsage, CachedResult, CheckVerdict, ChildDispatch, ChildEnd, ChildId,
        ClientRepair, CompactionEnd, CompactionStart, CriteriaCount, DeselectedStep, ExchangeGated,
        FailureTally, GatePoint, GuidanceEnd, GuidanceStart, IntentAdvice, LeftProcesses, LogDigest,
        MergeEnd, MergeRequest, MergeStart, ModelCallEnd, ModelCallStart, NestedFindings, PlanGeneration,
        PlannerCalls, PlannerRejection, ProposedAlternative, ReusedItem, ReworkLoop, Round, RunApproval,
        RunBlock, RunOutcome, RunPhase, StaleFile, Standing, StepCounts, StepItem, StepState, TaskId,
        ToolAdvice, ToolCallEnd, ToolCallRefusal, ToolCallStart, WorkExit,
    },
    suggestion::SuggestionOffer,
    undo::UndoOffer,
};
use wf_base::{
    digest::Sha256Digest,
    name::{GateId, Name, PlanId, RunId},
    time::Moment,
};
use wf_model::{CheckPhase, EscalationAction, FailureClass, JsonObject, RunBudget};

/// A fact about a run, in the past tense.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// The run began.
    RunStarted {
        /// The version of the rules it runs by.
        logic_version: u32,
        /// The plan.
        plan: PlanId,
        /// Its resolved parameters.
        params: JsonObject,
        /// Its name as a run dispatched by an agent; absent: it is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dispatch: Option<Name>,
    },
    /// The run was approved. The approval is consumed by this.
    RunApproved(Box<RunApproval>),
    /// The workspace was recorded before any work began.
    BaselineTaken(Baseline),
    /// The budget of the run was set.
    BudgetSet(Box<RunBudget>),
    /// A result was reused from an earlier run.
    StepReused {
        /// The step.
        step: Name,
        /// Its outputs.
        #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
        outputs: JsonObject,
        /// The verification status of the result.
        standing: Standing,
        /// The original run.
        reused_from: RunId,
        /// Its evidence, if it is verified.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        evidence: Vec<Artifact>,
    },
    /// The result of an item was reused from an earlier run. The item ends with it once it is known.
    ItemReused(ReusedItem),
    /// A result of an earlier run has changed since, and was not reused: its step runs again.
    ResultDropped {
        /// The step.
        step: Name,
        /// The key of the item; absent: the whole step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item_key: Option<String>,
        /// The difference.
        reason: String,
        /// The original run.
        reused_from: RunId,
    },
    /// The user left a step out of this run, or all but some of its items.
    StepDeselected(DeselectedStep),
    /// The items of a repeated step became known.
    StepExpanded {
        /// The step.
        step: Name,
        /// Its items in order.
        items: Vec<StepItem>,
    },
    /// A task waits for a named lock.
    LockRequested {
        /// The task.
        #[serde(flatten)]
        task_id: TaskId,
        /// The lock.
        lock: String,
    },
    /// The cache held a result; checks still have to confirm it. It is judged as attempt 0.
    CacheHit {
        /// The task.
        #[serde(flatten)]
        task_id: TaskId,
        /// The cached result.
        #[serde(flatten)]
        found: CachedResult,
    },
    /// An attempt began. Durable before anything acts.
    AttemptStarted(Attempt),
    /// An agent was briefed.
    AgentBriefed(Box<AgentBriefing>),
    /// A model call began. Durable before it is made.
    ModelCallStarted(ModelCallStart),
    /// A model call ended.
    ModelCallEnded(Box<ModelCallEnd>),
    /// A tool call of an agent began. Durable before it is executed.
    ToolCallStarted(ToolCallStart),
    /// A tool call of an agent ended.
    ToolCallEnded(ToolCallEnd),
    /// A tool call of an agent was refused: it is not executed.
    ToolCallRefused(ToolCallRefusal),
    /// An agent asked for a child run.
    ChildDispatched(ChildDispatch),
    /// A child run of an agent began. Durable before it does.
    ChildStarted(ChildId),
    /// A child run of an agent ended, or cannot begin any more.
    ChildEnded(Box<ChildEnd>),
    /// Gates decided about a model call, a reply, or the result of a tool call of an agent.
    ExchangeGated(ExchangeGated),
    /// The work of an agent ended; its results are collected.
    AgentEnded(AgentExit),
    /// A generated plan was read. Durable before anything of it begins.
    PlanGenerated(PlanGeneration),
    /// The changes of an agent in a worktree may be merged.
    MergeRequested(MergeRequest),
    /// The merge of the changes of an agent begins. Durable before a file is written.
    MergeStarted(Box<MergeStart>),
    /// The merge ended.
    MergeEnded(MergeEnd),
    /// The work of an attempt ended; nothing is verified yet.
    AttemptEnded {
        /// The attempt.
        #[serde(flatten)]
        attempt: Attempt,
        /// The exit.
        #[serde(rename = "exit")]
        how: WorkExit,
        /// The failure class.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure_class: Option<FailureClass>,
        /// The findings of the nested run in it.
        #[serde(default, flatten)]
        findings: NestedFindings,
        /// Its outputs, checked against their declarations.
        #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
        outputs: JsonObject,
        /// The files it left.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        artifacts: Vec<Artifact>,
        /// The verification status of a nested run's result, if gates are to look at it first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        standing: Option<Standing>,
        /// A verified file of an earlier step, changed while the attempt could read it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        swapped_file: Option<String>,
        /// The resources reported as used, however it ended.
        #[serde(default, skip_serializing_if = "AttemptUsage::is_zero")]
        usage: AttemptUsage,
        /// The processes left running.
        #[serde(default, flatten)]
        left: LeftProcesses,
        /// The digest of its log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        log: Option<LogDigest>,
        /// The breaker changes caused by it, except by calls of models, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        breakers: Vec<BreakerNote>,
    },
    /// The files of an attempt's evidence, as they were checked: its declared inputs and outputs.
    EvidenceTaken {
        /// The attempt.
        #[serde(flatten)]
        attempt: Attempt,
        /// The files.
        files: Vec<Artifact>,
    },
    /// An evidence file of a verified task has changed since: its success is unverified again.
    EvidenceStale(StaleFile),
    /// A criterion of an attempt, or of the plan, was ruled on.
    CheckCompleted {
        /// The attempt; absent for the plan's own criteria.
        #[serde(flatten)]
        attempt: Option<Attempt>,
        /// The ruling.
        verdict: CheckVerdict,
    },
    /// A phase of checks of an attempt or the plan passed, or was ignored by approvers; the next one follows.
    ChecksPassed {
        /// The attempt; absent for the plan's own checks.
        #[serde(flatten)]
        attempt: Option<Attempt>,
        /// The phase.
        phase: CheckPhase,
    },
    /// A gate was evaluated.
    GateEvaluated {
        /// The task; absent for a gate of the run.
        #[serde(flatten)]
        task_id: Option<TaskId>,
        /// Its result.
        result: GateResult,
    },
    /// All gates at a point passed, or an approver agreed on their demand.
    GatesPassed {
        /// The task; absent for the gates of the run.
        #[serde(flatten)]
        task_id: Option<TaskId>,
        /// The gate point.
        point: GatePoint,
        /// The rewritten parts, with their new values.
        #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
        rewritten: JsonObject,
    },
    /// An escalation of a gate's block took effect.
    Escalated {
        /// The task; absent for a gate of the run.
        #[serde(flatten)]
        task_id: Option<TaskId>,
        /// The blocking gate.
        gate: GateId,
        /// The name of the escalation.
        name: String,
        /// The action.
        action: EscalationAction,
        /// The message.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
    },
    /// An approval was requested.
    ApprovalRequested(Box<ApprovalRequest>),
    /// A request for approval was resolved.
    ApprovalResolved {
        /// The number of the request, in its run.
        request: u32,
        /// The waiting task; absent: the run waited.
        #[serde(flatten)]
        task_id: Option<TaskId>,
        /// The resolution.
        #[serde(flatten)]
        given: ApprovalOutcome,
    },
    /// Memory has advice on the plan's intent, or on how steps are done.
    MemoryApplied {
        /// The advice on the intent; absent: too little is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        intent: Option<IntentAdvice>,
        /// The advice on tools and their targets.
        advice: Vec<ToolAdvice>,
        /// The steps beginning with another alternative than as written, in plan order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<AlternativeSwitch>,
    },
    /// All steps of a round have ended, and the controller has judged it. Only runs of plans with `replan` have rounds.
    RoundCompleted(Box<Round>),
    /// A round has ended, no declared alternative is left, and the planner is asked for one.
    PlannerRequested {
        /// The number of the round.
        round: u32,
        /// The digest of the current plan.
        plan_digest: Sha256Digest,
        /// The steps in question, in plan order.
        steps: Vec<Name>,
    },
    /// The planner gave usable alternatives: they are part of the plan from now on.
    PlannerAccepted {
        /// The number of the round.
        round: u32,
        /// The digest of the plan with them.
        plan_digest: Sha256Digest,
        /// The digest of the planner's original plan.
        parent_digest: Sha256Digest,
        /// An alternative for each step, as it was given.
        alternatives: std::collections::BTreeMap<Name, ProposedAlternative>,
        /// The planner's reason.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        /// Its model calls.
        #[serde(flatten)]
        calls: PlannerCalls,
    },
    /// The planner gave nothing usable.
    PlannerRejected(PlannerRejection),
    /// The attempts of a step fail, and the planner is asked for guidance. Durable before it is asked.
    GuidanceRequested(GuidanceStart),
    /// The planner gave guidance for the next attempts of a step, or nothing usable.
    GuidanceEnded(GuidanceEnd),
    /// The compactor is to be asked for the cut of a conversation. Durable before it is asked.
    CompactionStarted(CompactionStart),
    /// The compactor chose, or gave no usable answer. Durable before the request after the cut.
    CompactionEnded(CompactionEnd),
    /// The answer of a program of its own is invalid, and it is to be begun again to repair it. Durable before it is.
    ClientRepairStarted(ClientRepair),
    /// A gate blocks the run.
    RunBlocked(RunBlock),
    /// A failed attempt will be followed by another: a retry or rework.
    RetryScheduled {
        /// The next attempt.
        #[serde(flatten)]
        attempt: Attempt,
        /// The scheduled time.
        due: Moment,
        /// The reason for the failure of the attempt before.
        reason: String,
        /// Its loop of `inspect` or `test`; absent: none.
        #[serde(default, rename = "loop", skip_serializing_if = "Option::is_none")]
        looped: Option<ReworkLoop>,
    },
    /// A task ended: a step, or an item of a repeated step.
    StepEnded {
        /// The task.
        #[serde(flatten)]
        task_id: TaskId,
        /// The final state.
        state: StepState,
        /// The verification status of the result.
        standing: Standing,
        /// The reason; empty for success, unless its verification status differs from its checks.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        /// The failure class.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure_class: Option<FailureClass>,
        /// True if the run goes on despite its failure.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        allowed_to_fail: bool,
        /// The cache key of the earlier result found.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_key: Option<Sha256Digest>,
        /// The outputs of a repeated step, lists in item order, or of a reused item.
        #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
        outputs: JsonObject,
        /// The original run of a reused item.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reused_from: Option<RunId>,
    },
    /// No further step begins, because one failed.
    RunDraining {
        /// The failed step.
        step: Name,
    },
    /// Cancellation of the run was requested.
    CancelRequested {
        /// The requester or the reason.
        reason: String,
        /// True if running work is killed without grace.
        force: bool,
    },
    /// The run exceeded its time limit.
    RunTimedOut,
    /// A threshold of a budget limit was reached: 80, 90 or 95 percent, each once; of several at once, the highest.
    BudgetThresholdReached {
        /// The resource and the amount used.
        #[serde(flatten)]
        spent: BudgetUsage,
        /// The threshold reached.
        percent: u32,
    },
    /// The run makes progress and was given more time.
    BudgetExtended {
        /// The new limit on the time, in milliseconds from the start of the run.
        limit_ms: u64,
    },
    /// The budget is spent: only checks of finished work and `finally` steps still begin.
    BudgetExhausted {
        /// The resource and the amount used.
        #[serde(flatten)]
        spent: BudgetUsage,
        /// True if running work is ended, too: the time is over.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hard: bool,
    },
    /// The run entered its next phase.
    PhaseStarted {
        /// The phase.
        phase: RunPhase,
    },
    /// The run ended.
    RunEnded {
        /// The outcome.
        outcome: RunOutcome,
        /// The reason, in one sentence; for success, the skipped checks and their cause, if any.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        /// The first failed step, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed_step: Option<Name>,
        /// The verification status of the result.
        standing: Standing,
        /// The number of steps by final state.
        counts: StepCounts,
        /// The failures, by class, if it did not succeed.
        #[serde(default, skip_serializing_if = "FailureTally::is_empty")]
        failures: FailureTally,
        /// The tasks with stale evidence, each with a changed file, in plan order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        stale: Vec<StaleFile>,
        /// The plan's outputs.
        #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
        outputs: JsonObject,
        /// The number of passing criteria, if the result was accepted with less than all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        accepted: Option<CriteriaCount>,
        /// The possible next runs, if its plan has any and it succeeded.
        #[serde(flatten)]
        offers: RunOffers,
    },
}

/// A fact about a run: the record's unit and the public event format, version 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Event {
    /// The time.
    pub at: Moment,
    /// The fact.
    #[serde(flatten)]
    pub fact: EventKind,
}

/// The possible next runs after a success, if a person wants them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunOffers {
    /// The means to undo it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Box<UndoOffer>>,
    /// The suggestions of next plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggests: Option<Box<SuggestionOffer>>,
}

/// The version of the machine's rules. A state written under other rules is not continued.
///
/// It changes when the meaning of a recorded fact changes. Evidence and corrections did not change
/// it: a log without their facts leads to the same state as before, and goes on from there.
pub const LOGIC_VERSION: u32 = 1;
