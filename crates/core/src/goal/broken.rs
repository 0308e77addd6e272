//! The scheduled times of a goal whose file cannot be read any more.

use std::time::Duration;

use super::decide::excluded_or;
use super::known::instant_before;
use super::row::SlotEntries;
use super::{GoalLedgerState, SlotDecision, SlotState};
use wf_base::name::PlanId;
use wf_base::time::Moment;

/// The time after a scheduled time within which the file may be mended: an editor saves what is half done.
const BROKEN_GRACE: Duration = Duration::from_mins(1);

/// Decides, by the schedule at the last decision, about the scheduled times that came while a goal could not be read: they are
/// missed. Those of a paused goal are left until it can be read again.
pub fn missed_while_broken(
    goal: &PlanId,
    state: &GoalLedgerState,
    reason: &str,
    now: Moment,
) -> SlotDecision {
    let Some(timing) = state.timing.as_ref().filter(|_| state.paused.is_none()) else {
        let decided_until = state.decided_until;
        return SlotDecision { rows: Vec::new(), decided_until, cancels_running: false, wake: None };
    };
    let delay = timing.offset(goal.as_str()) + BROKEN_GRACE;
    let decided_until = state.decided_until.max(instant_before(now, delay));
    let reason = format!("broken: {reason}");
    let mut rows = SlotEntries::default();
    let slots = timing.slots(state.decided_until, Moment::from_millis(i64::MAX));
    for (number, slot) in (0..).zip(slots.take_while(|slot| slot.at <= decided_until)) {
        if !state.unaccounted_starts.contains(&slot.at) {
            rows.push(number, excluded_or(&slot, SlotState::Missed, &reason));
        }
    }
    SlotDecision {
        rows: rows.into_vec(),
        decided_until,
        cancels_running: false,
        wake: timing.next(decided_until).map(|slot| slot.at.after(delay)),
    }
}
