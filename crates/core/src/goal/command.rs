//! The words between the driver of a goal and whoever drives it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{GoalLedgerState, ReconciliationHealth, ReconciliationPart, ReconciliationRunEnd};
use crate::machine::CheckVerdict;
use wf_base::{name::RunId, time::Moment};

/// A run a reconciliation needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReconciliationRun {
    /// The run. Its id follows from the deployment, the scheduled time and the part: it is the same however often it is
    /// asked for.
    pub run: RunId,
    /// The check run of its reconciliation: itself, or that of a repair.
    pub look: RunId,
    /// Its part: the check run, or the repair.
    pub part: ReconciliationPart,
    /// The scheduled time.
    pub slot: Moment,
    /// The verdicts of the check run, for a repair.
    pub checks: Vec<CheckVerdict>,
}

/// An occurrence a goal reacts to.
#[derive(Clone, Debug, PartialEq)]
pub enum GoalOccurrence {
    /// Time passed.
    Woke,
    /// A run of it ended.
    Ended { run: RunId, end: ReconciliationRunEnd },
    /// A run of it does nothing until a person decides.
    Waits { run: RunId },
    /// A person pauses it.
    Pause { reason: String },
    /// A person ends its pause.
    Resume,
    /// A person wants a reconciliation now.
    Request,
    /// Its workspace decides about it again, once what is under way has ended.
    Recall { cancels: bool },
}

/// A command for whoever drives a goal.
#[derive(Clone, Debug, PartialEq)]
pub enum GoalCommand {
    /// Start a run, and tell when it ends or waits for people.
    Start(ReconciliationRun),
    Cancel(RunId),
    /// Send notifications, each to its recipient.
    Notify(Vec<Value>),
}

/// Whoever says which runs may start.
pub trait RunPermits {
    /// Permits the start of a run, which then counts; the error is the reason why not.
    fn permit(&mut self, run: &ReconciliationRun) -> Result<(), String>;
}

/// The account of a goal with which its driver begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalAccountAtDeployment {
    /// The knowledge of its ledger; nothing is running.
    pub known: GoalLedgerState,
    /// The ends of its latest reconciliations, newest first.
    pub ends: Vec<(Moment, ReconciliationHealth)>,
    /// The time its last pause ended.
    pub resumed: Option<Moment>,
}
