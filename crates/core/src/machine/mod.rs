//! The core: a pure state machine that runs one plan.
//!
//! [`Machine::turn`] takes one [`MachineInput`] (an occurrence, at an instant) and returns a [`MachineTurn`]: the
//! [`Event`]s that follow from it and the [`Effect`]s that the world must carry out once those
//! events are durable. It reads no clock, does no I/O, waits for nothing and draws no random
//! numbers.
//!
//! **Invariant:** the state is the fold of the events; [`Machine::replay`] rebuilds it. What was
//! asked of the world and not answered is [`InFlight`]: the fold never sees it, and after a replay
//! [`Machine::resume`] derives it from the state. **Invariant:** an input that
//! does not answer an open effect changes nothing, so every input may arrive twice. **Invariant:**
//! a turn costs what it changes: the edges of the steps that ended, never a scan or a copy of the
//! state.
//!
//! # The way through it
//!
//! An input enters at `turn`, which calls the room that the input answers. A room decides, and each decision is an
//! event, recorded by `Machine::emit`. The fold (`fold`, `fold_gates`, `task_end`, `reopen`) applies the event to
//! [`MachineState`], and [`InFlight`] follows the tasks that it moved. Then `advance` begins whatever may begin now,
//! until nothing more follows without an input.
//!
//! | room | modules |
//! |---|---|
//! | progress: dependencies, the items of a repeated step, the phases of a run | `advance` `fan_out` |
//! | admission: room, gates, locks, the cache, the budget | `admit` `budget` `in_flight` |
//! | attempts: their ends, retries and feedback | `finish` `history` `feedback` |
//! | agents: model calls and tool calls | `agent` `agent_client` `agent_context` `agent_fold` `agent_record` |
//! | child runs that agents start | `children` `child_fold` |
//! | plans that the run makes | `generated` |
//! | merges of what agents did in worktrees | `merging` |
//! | verdicts: the checks of a phase, rework, evidence that goes stale | `checks` `confirm` |
//! | gates and approvals | `gates` `escalation` `approvals` |
//! | rounds: measured, judged, redirected to other alternatives | `measure` `rounds` `actuator` `memory_advice` |
//! | the planner, asked when no alternative is left | `planner` `request` `proposal` `restrictions` |
//! | the planner, asked about an agent whose attempts fail | `guidance` |
//! | people, asked about an agent that is stuck | `stuck` |
//! | time and interruption: timers, cancellation, resume, restore, termination | `timers` `cancel` `resume` `restore` `terminate` |
//! | the end of a run and its verification status | `run_end` `omission` |
//!
//! The other modules hold the types of events, inputs and effects, and of the state: `state` and `task_phase` for the
//! run and its tasks, `control` for the controller, `ledger` for the budget.

mod actuator;
mod admit;
mod advance;
mod agent;
mod agent_client;
mod agent_context;
mod agent_event;
mod agent_fold;
mod agent_record;
mod approval_request;
mod approvals;
mod asked_model;
mod attempt_end;
mod budget;
mod call_effort;
mod cancel;
mod checks;
mod child_event;
mod child_fold;
mod children;
mod client_repair;
mod compaction;
mod compaction_event;
mod confirm;
mod control;
mod effect;
mod escalation;
mod event;
mod evidence;
mod exchange;
mod exchange_approval;
mod exit;
mod fact;
mod fan_out;
mod feedback;
mod file_claims;
mod finish;
mod fold;
mod fold_gates;
mod gates;
mod generated;
mod guidance;
mod guidance_event;
mod history;
mod in_flight;
mod input;
mod ledger;
mod left_process;
mod measure;
mod memory_advice;
mod merge_event;
mod merging;
mod observations;
mod omission;
mod opening;
mod planner;
mod planner_event;
mod proposal;
mod question;
mod reason;
mod reopen;
mod request;
mod restore;
mod restrictions;
mod resume;
mod reusable;
mod round;
mod rounds;
mod run_approval;
mod run_end;
mod run_offers;
mod scope;
mod serde_pairs;
mod standing;
mod state;
mod stuck;
mod supplement;
mod task_end;
mod task_id;
mod task_locks;
mod task_phase;
mod terminate;
mod timers;
mod tool_approval;
mod turn;
mod typed_answer;
mod untrusted;
mod verdict;

pub use advance::{NOT_CHOSEN, NOT_ESCALATED, NOT_STARTED};
pub use agent_event::{
    AgentBriefing, AgentExit, ClientCall, ModelCallEnd, ModelCallOutcome, ModelCallStart, ModelLimits,
    RequestedTool, ToolCallEnd, ToolCallId, ToolCallRefusal, ToolCallStart,
};
pub use agent_record::{AgentRecord, AgentTurn, ClientReply, ToolRecord};
pub use approval_request::{ApprovalOutcome, ApprovalRequest, RequestDecision};
pub use asked_model::{AskedModel, PlannerCalls};
pub use attempt_end::{AttemptEnd, LogDigest};
pub use budget::{BUDGET_SPENT_PREFIX, CALL_UNPAID_PREFIX};
pub use call_effort::{CallEffort, PassedOverModel};
pub use checks::ReworkLoop;
pub use child_event::{ChildDispatch, ChildEnd, ChildId, ChildPhase, ChildRecord};
pub use client_repair::{ClientRepair, InvalidAnswer};
pub use compaction_event::{
    CompactionEnd, CompactionOutcome, CompactionReply, CompactionRequest, CompactionStart, CompactorLimits,
};
pub use effect::{Effect, GateQuestion, TimerKind};
pub use escalation::RunBlock;
pub use event::{EventKind, LOGIC_VERSION};
pub use evidence::{Artifact, Baseline, IsolationKind, StaleFile};
pub use exchange::{ExchangeGated, ExchangePart, ExchangeQuestion, GatedExchange, RevisedResult};
pub use exchange_approval::ExchangeSubject;
pub use exit::WorkExit;
pub use fact::Event;
pub use feedback::{AttemptFeedback, FailedCheck, FailureCount};
pub use gates::{GatePoint, gates_at};
pub use generated::PlanGeneration;
pub use guidance::ATTEMPTS_BEFORE_GUIDANCE;
pub use guidance_event::{GuidanceEnd, GuidanceOutcome, GuidanceReply, GuidanceRequest, GuidanceStart};
pub use in_flight::InFlight;
pub use input::{
    CachedFile, CachedFileKind, CachedResult, DeselectedStep, DiscardedResult, InputKind, MachineInput,
    PlannerReply, RunOutcome,
};
pub use ledger::{AttemptUsage, BudgetLedger, BudgetUsage};
pub use left_process::{LeftProcess, LeftProcesses};
pub use memory_advice::{AdviceKind, IntentAdvice, ToolAdvice};
pub use merge_event::{
    MergeEnd, MergeOutcome, MergePlan, MergePreparation, MergeRequest, MergeStart, MergeSubject,
};
pub use observations::{NestedFindings, UsedAlternative};
pub use planner::{ANSWER_LIMIT, proposed_plans};
pub use planner_event::{PlanReply, PlannerRejection};
pub use proposal::{ProposedAgent, ProposedAlternative, ProposedArguments, ProposedRequest, ProposedScript};
pub use question::PersonAnswer;
pub use reason::REASON_LIMIT;
pub use request::{
    AvoidedTool, PlanFailure, PlanIntent, PlanRequest, PlanState, PlannerRestrictions, PreferredTool,
};
pub use restore::RestoreError;
pub use reusable::{ReusedItem, ReusedResult};
pub use round::{
    AlternativeSwitch, CriteriaCount, FailureTally, Round, RoundExhaustion, RoundFailureClass,
    forget_round_time,
};
pub use rounds::{NO_ALTERNATIVE_LEFT, NOT_APPROVED};
pub use run_approval::{ApprovalPolicy, ApprovalSigner, PinnedFile, RunApproval, tree_of, tree_text};
pub use run_offers::RunOffers;
pub use standing::{RunPhase, Standing, StepCounts, StepItem, StepState};
pub use state::MachineState;
pub use stuck::{REPLANS_BEFORE_PEOPLE, StuckAttempt};
pub use supplement::{AddedContext, CallSupplement, GateReply};
pub use task_id::{Attempt, TaskId};
pub use task_locks::{LockHolder, LockKey, TaskLocks};
pub use tool_approval::{ShownContent, ToolCallSubject};
pub use turn::{LogicMismatch, Machine, MachineTurn};
pub use typed_answer::{AnswerOptions, TypedAnswer, check_answer};
pub use untrusted::untrusted_input;
pub use verdict::{
    CHANGES_LIMIT, CheckRuling, CheckVerdict, ForeignChanges, HIDDEN_LIMIT, PriorFinding, ProductChanges,
};
