use serde::{Deserialize, Serialize};

use super::{GoalOutcome, ReconciliationCause, SlotDecision};
use wf_base::{name::RunId, time::Moment};

/// A decision about a goal that was made elsewhere, as whoever keeps the account of the goal records it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalRecord {
    /// The time of the decision.
    pub at: Moment,
    #[serde(flatten)]
    pub fact: GoalFact,
}

/// A fact about a goal. Recorded in their order, the facts lead to the ledger they were decided with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum GoalFact {
    /// Scheduled times were decided about.
    Decided {
        /// The time up to which they were accounted for before.
        after: Option<Moment>,
        decision: SlotDecision,
    },
    /// A person asked for a reconciliation, which counts as a scheduled time.
    Requested {
        slot: Moment,
    },
    /// A check run was started.
    Started {
        run: RunId,
        /// The scheduled time.
        slot: Moment,
        cause: ReconciliationCause,
    },
    RepairStarted {
        run: RunId,
        /// The check run of its reconciliation.
        look: RunId,
    },
    /// A reconciliation ended. One that waits for people may end anew.
    Ended {
        /// Its check run.
        look: RunId,
        #[serde(rename = "verdict")]
        outcome: GoalOutcome,
        /// The reason why the goal is paused now, if it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pause: Option<String>,
    },
    Paused {
        reason: String,
    },
    /// Its pause ended.
    Resumed,
    /// It is decided about elsewhere no more.
    Recalled,
}
