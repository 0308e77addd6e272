use std::path::Path;

use super::cycle::ReconciliationRequest;
use crate::Caller;
use crate::approve::check_accepted;
use crate::load::LoadedPlan;
use crate::{CliExitCode, CommandError};
use wf_core::goal::notifications;
use wf_model::{Goal, GoalEvent};
use wf_store::{SlotSkip, Store, StoreDurability};

/// The file of the state folder that a daemon watches: it is written by every command whose changes
/// the daemon should examine.
pub const WAKE_FILE: &str = "goals/poke";

/// Wakes the daemon, if there is one.
pub fn wake_daemon(state: &Path) {
    // Without a daemon nothing is lost; with one, it examines goals at the next scheduled time anyway.
    let _ = std::fs::write(state.join(WAKE_FILE), b"");
}

/// Handles a scheduled time whose reconciliation did not start. One without approval is not retried
/// forever: the scheduled time is skipped, and a notification is sent.
///
/// The notification uses the goal's own `notify`, so none is sent for an unaccepted goal.
pub fn handle_start_failure(
    caller: &dyn Caller,
    ready: &LoadedPlan,
    goal: &Goal,
    begin: ReconciliationRequest,
    failure: CommandError,
) -> CommandError {
    let Some(slot) = begin.slot.filter(|_| failure.exit == CliExitCode::Approval) else {
        return failure;
    };
    let state = caller.host().workspace().state;
    let Ok(store) = Store::open(&state, StoreDurability::Full, caller.host().clock()) else {
        return failure;
    };
    let now = caller.host().now();
    let news = if matches!(check_accepted(caller, ready), Ok(Ok(()))) {
        notifications(goal, GoalEvent::Waiting, &failure.message, None, now)
    } else {
        Vec::new()
    };
    let reason = failure.message.clone();
    let skip = SlotSkip { goal: goal.id.clone(), slot, reason, notices: news, at: now };
    let left = store.skip_slot(skip, begin.token);
    // If that fails, the scheduled time stays due and is tried again.
    let _ = left.wait();
    failure
}
