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

mod actuator;
mod admit;
mod advance;
mod advice;
mod advised;
mod again;
mod apply;
mod approved;
mod ask;
mod asks;
mod blocked;
mod budget;
mod cached_file;
mod confirm;
mod control;
mod correction;
mod effect;
mod end;
mod ends;
mod event;
mod evidence;
mod exit;
mod finish;
mod flaw;
mod gates;
mod held;
mod in_flight;
mod input;
mod ledger;
mod measure;
mod over;
mod pairs;
mod phases;
mod planner;
mod proposal;
mod reopen;
mod request;
mod restore;
mod resume;
mod round;
mod rounds;
mod scope;
mod shown;
mod standing;
mod state;
mod subject;
mod sweep;
mod task_phase;
mod timers;
mod tries;
mod turn;
mod unfold;
mod word;

pub use advance::{NOT_CHOSEN, NOT_STARTED};
pub use advised::{AdviceKind, IntentAdvice, ToolAdvice};
pub use approved::{ApprovalPolicy, ApprovalSigner, PinnedFile, RunApproval, tree_of, tree_text};
pub use ask::{ApprovalOutcome, ApprovalRequest, RequestDecision};
pub use budget::BUDGET_SPENT_PREFIX;
pub use cached_file::CachedFile;
pub use correction::{AttemptFeedback, FailedCheck, FailureCount};
pub use effect::{Effect, TimerKind};
pub use event::{Event, EventKind, REASON_LIMIT};
pub use evidence::{Baseline, IsolationKind, StaleFile};
pub use exit::WorkExit;
pub use gates::{GatePoint, gates_at};
pub use in_flight::InFlight;
pub use input::{
    Artifact, AttemptEnd, CachedResult, CheckRuling, CheckVerdict, DeselectedStep, DiscardedResult,
    HIDDEN_LIMIT, InputKind, MachineInput, PlannerReply, ReusedResult, RunOutcome,
};
pub use ledger::{AttemptUsage, BudgetLedger, BudgetUsage};
pub use phases::ReworkLoop;
pub use planner::ANSWER_LIMIT;
pub use proposal::ProposedAlternative;
pub use request::{AvoidedTool, PlanFailure, PlanIntent, PlanRequest, PlanState, PlannerRestrictions};
pub use restore::RestoreError;
pub use round::{AlternativeSwitch, CriteriaCount, Round, RoundFailureClass};
pub use rounds::NO_ALTERNATIVE_LEFT;
pub use shown::UsedAlternative;
pub use standing::{RunPhase, Standing, StepCounts, StepItem, StepState};
pub use state::MachineState;
pub use subject::{Attempt, TaskId};
pub use turn::{LogicMismatch, Machine, MachineTurn};

/// The version of the machine's rules. A state written under other rules is not continued.
///
/// It changes when the meaning of a recorded fact changes. Evidence and corrections did not change
/// it: a log without their facts leads to the same state as before, and goes on from there.
pub const LOGIC_VERSION: u32 = 1;
