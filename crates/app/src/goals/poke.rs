use std::{path::Path, sync::Arc};

use serde_json::Value;

use super::cycle::ReconciliationRequest;
use crate::{
    Caller, CliExitCode, CommandError,
    approve::{awaited_acceptance, check_accepted},
    specs::load::{self, LoadedPlan},
};
use wf_base::time::Moment;
use wf_core::goal::{NotifiedReconciliation, ReconciliationPart, notifications};
use wf_model::{Goal, GoalEvent};
use wf_store::{SlotBlock, Store, StoreDurability, StoreReader};

/// The file of the state folder watched by a daemon: every command writes it after changes
/// the daemon should examine.
pub const WAKE_FILE: &str = "goals/poke";

/// Wakes the daemon, if there is one.
pub fn wake_daemon(state: &Path) {
    // Without a daemon nothing is lost; with one, it examines goals at the next scheduled time anyway.
    let _ = std::fs::write(state.join(WAKE_FILE), b"");
}

/// Handles a scheduled time whose reconciliation did not start. One without approval is not retried
/// forever: the scheduled time is blocked, and a notification is sent.
pub fn handle_start_failure(
    caller: &dyn Caller,
    loaded: &LoadedPlan,
    goal: &Goal,
    request: ReconciliationRequest,
    error: CommandError,
) -> CommandError {
    let Some(slot) = request.slot.filter(|_| error.exit == CliExitCode::Approval) else {
        return error;
    };
    let state = caller.host().workspace().state;
    let Ok(store) = Store::open(&state, StoreDurability::Full, caller.host().clock()) else {
        return error;
    };
    let now = caller.host().now();
    let reason = match awaited_acceptance(caller, loaded) {
        Ok(Some(_)) => error.message.clone(),
        _ => format!("{}; wf approve {}", error.message, loaded.path),
    };
    let notices = block_notifications(caller, loaded, goal, slot, &reason);
    let block = SlotBlock { goal: goal.id.clone(), slot, reason, notices, at: now };
    // If that fails, the scheduled time stays due and is tried again.
    let _ = store.slots().block(block, request.token).wait();
    error
}

/// Returns the notifications of a blocked goal. An unaccepted goal notifies those it named when it last ran: what
/// it says now is not accepted, and silence would look like success.
fn block_notifications(
    caller: &dyn Caller,
    loaded: &LoadedPlan,
    goal: &Goal,
    slot: Moment,
    reason: &str,
) -> Vec<Value> {
    let now = caller.host().now();
    if matches!(check_accepted(caller, loaded), Ok(Ok(()))) {
        return notifications(goal, GoalEvent::Blocked, reason, None, now);
    }
    let last = || {
        let reader = StoreReader::open(&loaded.workspace.state).ok()?;
        let look = reader.reconciliations().latest(&goal.id, 1).ok()?.pop()?.run;
        let then = load::load_recorded_as(caller, &reader, &look, Some(ReconciliationPart::Look)).ok()?;
        let then = Arc::clone(&then.goal.as_ref()?.goal);
        let last = NotifiedReconciliation { look: &look, repair: None, slot: Some(slot), was_blocked: true };
        Some(notifications(&then, GoalEvent::Blocked, reason, Some(last), now))
    };
    last().unwrap_or_default()
}
