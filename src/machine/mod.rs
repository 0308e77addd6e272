//! The heart: a pure state machine that runs one plan.
//!
//! [`Machine::turn`] takes one [`Input`] (something happened, at an instant) and gives a
//! [`Turn`]: the [`Event`]s that follow from it and the [`Effect`]s that the world must carry
//! out once those events are durable. It reads no clock, does no I/O, waits for nothing and
//! draws no random numbers.
//!
//! **Invariant:** the state is the fold of the events; [`Machine::replay`] rebuilds it. What is
//! in flight after a replay is asked for again by [`Machine::resume`].
//! **Invariant:** an input that does not answer an open effect changes nothing, so every input
//! may arrive twice. **Invariant:** a turn costs what it changes: the edges of the steps that
//! ended, never a scan or a copy of the state.

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
mod resume;
mod round;
mod rounds;
mod scope;
mod shown;
mod stage;
mod standing;
mod state;
mod subject;
mod sweep;
mod timers;
mod tries;
mod turn;
mod unfold;
mod word;

pub use advance::{NOT_CHOSEN, NOT_STARTED};
pub use advised::{Advice, Advised, IntentAdvice};
pub use approved::{ApprovalPolicy, Approved, By, Pin, tree_of, tree_text};
pub use ask::{Ask, Decision, Given};
pub use budget::SPENT;
pub use correction::{Correction, Gap, Unmet};
pub use effect::{Effect, Timer};
pub use event::{Event, Fact, WHY_LIMIT};
pub use evidence::{Baseline, Guard, Stale};
pub use exit::Exit;
pub use gates::{GatePoint, gates_at};
pub use input::{
    Artifact, Cached, Dropped, Ended, HIDDEN_LIMIT, Happening, Input, Kept, Left, Outcome,
    PlannerSaid, Ruling, Verdict,
};
pub use ledger::{Ledger, Spent, Usage};
pub use phases::Loop;
pub use planner::ANSWER_LIMIT;
pub use proposal::Proposal;
pub use request::{Constraint, Intent, Missing, MustNot, PlanRequest, PlanState};
pub use round::{Blame, Change, Criteria, Round};
pub use rounds::NO_WAY;
pub use shown::Way;
pub use stage::is_plain;
pub use standing::{Item, Phase, Standing, StepState, Tally};
pub use state::State;
pub use subject::{Attempt, Place};
pub use turn::{Machine, OtherLogic, Turn};

/// The version of the machine's rules. A state written by other rules is not continued.
///
/// It changes when a fact that was recorded before comes to mean something else. Evidence and
/// corrections did not do that: a log without their facts leads to the state that it always led
/// to, and goes on from there.
pub const LOGIC: u32 = 1;
