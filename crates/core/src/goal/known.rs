use std::time::Duration;

use serde::{Deserialize, Serialize};

use wf_base::{name::RunId, time::Moment};
use wf_model::schedule::GoalSchedule;

use super::{ReconciliationCause, SlotState};

/// The ledger's knowledge of a goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalLedgerState {
    /// The schedule at the last decision; `None` if it cannot be read any more.
    pub timing: Option<GoalSchedule>,
    /// The time up to which all scheduled times are accounted for.
    pub decided_until: Moment,
    /// The start of its pause and the reason, if it is paused.
    pub paused: Option<(Moment, String)>,
    /// The scheduled times whose reconciliations have not started yet, in order.
    pub open_slots: Vec<OpenSlot>,
    /// The running reconciliations.
    pub active: Vec<ActiveReconciliation>,
    /// The scheduled times that were started though they are not accounted for: a fast clock was
    /// corrected.
    pub unaccounted_starts: Vec<Moment>,
}

/// A scheduled time whose reconciliation has not started yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenSlot {
    /// The scheduled time.
    pub slot: Moment,
    /// [`SlotState::Due`] or [`SlotState::Queued`].
    pub state: SlotState,
    pub cause: ReconciliationCause,
    /// The time of the decision.
    pub at: Moment,
}

/// A running reconciliation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveReconciliation {
    /// The scheduled time; `None`: the user asked for it.
    pub slot: Option<Moment>,
    /// The first run, which identifies it.
    pub run: RunId,
}

impl GoalLedgerState {
    /// Returns the knowledge of a goal seen for the first time: nothing before now is due.
    pub fn first_seen(schedule: GoalSchedule, now: Moment) -> Self {
        Self {
            timing: Some(schedule),
            decided_until: now,
            paused: None,
            open_slots: Vec::new(),
            active: Vec::new(),
            unaccounted_starts: Vec::new(),
        }
    }
}

/// Returns the instant before another by a duration.
pub(super) fn instant_before(at: Moment, by: Duration) -> Moment {
    let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
    Moment::from_millis(at.millis().saturating_sub(by))
}
