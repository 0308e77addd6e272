//! The words of the machine: its facts, inputs and effects, and the values in them.
//!
//! They are data, with the rules about them alone: a room reads them, records them, and hands them on. Everything here
//! has a stable form, since it is stored or sent. **Invariant:** this room names no other room of the machine.
//!
//! Start at `event`, `input` and `effect`, which name all else. Then `task_id`, `standing` and `attempt_end`: what a task is,
//! how it stands, and how its work ended. The other files can be read alone. `agents` has the words for the work of agents,
//! `requests` those for people and planners.

pub(super) mod advice;
pub(super) mod agents;
pub(super) mod feedback;
pub(super) mod reason;
pub(super) mod requests;
pub(super) mod serde_pairs;

mod attempt_end;
mod call_effort;
mod effect;
mod event;
mod evidence;
mod gate_point;
mod input;
mod ledger;
mod locks;
mod reused;
mod round;
mod run_approval;
mod standing;
mod task_id;
mod verdict;

pub use advice::{AdviceKind, IntentAdvice, ToolAdvice};
pub use agents::*;
pub use attempt_end::{AttemptEnd, LeftProcess, LeftProcesses, LogDigest, PlanGeneration, WorkExit};
pub use call_effort::{AskedModel, CallEffort, PassedOverModel, PlannerCalls};
pub use effect::{Effect, GateQuestion, TimerKind};
pub use event::{Event, EventKind, LOGIC_VERSION, RunOffers};
pub use evidence::{Artifact, Baseline, IsolationKind, StaleFile};
pub use feedback::{AttemptFeedback, FailedCheck, FailureCount, ReworkLoop};
pub use gate_point::{GatePoint, RunBlock, gates_at};
pub use input::{
    CachedFile, CachedFileKind, CachedResult, DeselectedStep, DiscardedResult, InputKind, MachineInput,
    PlannerReply, RunOutcome,
};
pub use ledger::{AttemptUsage, BudgetLedger, BudgetUsage};
pub use locks::{LockHolder, LockKey, TaskLocks};
pub use reason::REASON_LIMIT;
pub use requests::*;
pub use reused::{ReusedItem, ReusedResult};
pub use round::{
    AlternativeSwitch, CriteriaCount, FailureTally, NO_ALTERNATIVE_LEFT, NOT_APPROVED, NestedFindings, Round,
    RoundExhaustion, RoundFailureClass, UsedAlternative, forget_round_time,
};
pub use run_approval::{ApprovalPolicy, ApprovalSigner, PinnedFile, RunApproval, tree_of, tree_text};
pub use standing::{RunPhase, Standing, StepCounts, StepItem, StepState};
pub use task_id::{Attempt, TaskId};
pub use verdict::{
    CHANGES_LIMIT, CheckRuling, CheckVerdict, ForeignChanges, HIDDEN_LIMIT, PriorFinding, ProductChanges,
};
