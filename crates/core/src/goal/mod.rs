//! The scheduling of goals: decisions from the clock and the ledger, and nothing else.
//!
//! A *slot* is a scheduled time of a goal. [`decide`](decide()) takes all slots the ledger does not account
//! for yet and decides about each by the rules of the goal: *due* (a reconciliation is to start), *queued*
//! (it waits for another), *skipped* or *missed*. The store writes all of that in one transaction, together
//! with the time decided up to. A reconciliation starts when its run is recorded, in the transaction that
//! turns its slot from due to *started*.
//!
//! [`turn`](turn()) does that for one goal with a [`GoalLedger`]; [`LedgerTurn`] does the same without blocking.
//! The daemon's ledger is the store, and that of [`simulate`], which takes a daemon through a year
//! without waiting for it, is in memory. [`GoalAgenda`] selects the goals to consider: those that are due,
//! however many there are. [`next_step`] decides how a reconciliation ends, and [`health_notification`] the notification
//! about it.
//!
//! A goal that is kept elsewhere has a [`GoalDriver`], which does what the daemon does without a clock or a disk; its
//! [`GoalRecord`]s are what the workspace records later.
//!
//! [`count_samples`] counts the opinions on the repairs of a goal, [`advise`] proposes changes of its autonomy
//! from them, and [`withdrawn_at`] tells if an approval was withdrawn. [`ApprovalTerm`] warns of its end.
//!
//! **Invariant:** slots come from the clock and the ledger, never from the last run: a slot accounted for is
//! not decided again, whatever the clock does. **Invariant:** nothing here reads a clock, a disk or a
//! network.

mod agenda;
mod autonomy;
mod command;
mod conclude;
mod decide;
mod driver;
mod known;
mod memory;
mod notification;
mod opinion;
mod record;
mod row;
mod run_end;
mod sim;
mod term;
#[cfg(test)]
mod tests;
mod turn;
mod withdrawal;

pub use agenda::GoalAgenda;
pub use autonomy::{AutonomyDirection, AutonomyProposal, SHORTEST, advise, narrow};
pub use command::{GoalAccountAtDeployment, GoalCommand, GoalOccurrence, ReconciliationRun, RunPermits};
pub use conclude::{
    CheckRunFindings, GoalOutcome, ReconciliationHealth, ReconciliationPart, ReconciliationStep,
    RepairOutcome, consecutive_failures, health_notification, next_step,
};
pub use decide::{SlotDecision, decide, missed_while_broken, paused_until, rescheduled};
pub use driver::GoalDriver;
pub use known::{ActiveReconciliation, GoalLedgerState, OpenSlot};
pub use memory::InMemoryLedger;
pub use notification::{
    FollowUps, NotificationMessage, NotificationOrder, NotificationRecipient, NotifiedReconciliation,
    RecipientUrl, follow_ups, missed_notifications, notifications,
};
pub use opinion::{
    OpinionCounts, RepairOpinion, RepairSample, StandingApprovalLimits, count_samples, most_samples,
};
pub use record::{GoalFact, GoalRecord};
pub use row::{ReconciliationCause, SlotEntry, SlotState, truncate_at};
pub use run_end::ReconciliationRunEnd;
pub use sim::{SimulationResult, SimulationScenario, simulate};
pub use term::{ApprovalTerm, ApprovedReconciliation};
pub use turn::{DueActions, GoalLedger, LedgerEntry, LedgerTurn, turn};
pub use withdrawal::{ApprovalWithdrawal, withdrawn_at};
