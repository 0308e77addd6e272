use std::time::Duration;

use crate::name::RunId;
use crate::schedule::Timing;
use crate::time::Moment;

use super::{Cause, SlotState};

/// What the ledger knows of a goal.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// When it is due, as it was when it was last looked at; `None` if that cannot be read any
    /// more.
    pub timing: Option<Timing>,
    /// All slots up to here are accounted for.
    pub decided: Moment,
    /// Since when it is paused, and why.
    pub paused: Option<(Moment, String)>,
    /// The slots whose cycles are still to begin, in order.
    pub open: Vec<Open>,
    /// The cycles that have begun and not ended.
    pub live: Vec<Live>,
    /// The slots that have begun though they are not accounted for: a clock ran ahead and was put
    /// right.
    pub begun: Vec<Moment>,
}

/// A slot whose cycle is still to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// The slot.
    pub slot: Moment,
    /// [`SlotState::Due`] or [`SlotState::Queued`].
    pub state: SlotState,
    /// What its cycle is begun for.
    pub cause: Cause,
    /// When that was decided.
    pub at: Moment,
}

/// A cycle that has begun and not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// Its slot; `None`: somebody asked for it.
    pub slot: Option<Moment>,
    /// Its first run, which is its name.
    pub run: RunId,
}

impl Known {
    /// What is known of a goal that is seen for the first time: nothing that was due before now
    /// is.
    pub fn first(timing: Timing, now: Moment) -> Self {
        Self {
            timing: Some(timing),
            decided: now,
            paused: None,
            open: Vec::new(),
            live: Vec::new(),
            begun: Vec::new(),
        }
    }
}

/// An instant and a while before it.
pub(super) fn before(at: Moment, by: Duration) -> Moment {
    let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
    Moment::from_millis(at.millis().saturating_sub(by))
}
