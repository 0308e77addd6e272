use std::path::Path;

use super::cycle::Begin;
use super::news::notices;
use crate::cli::approve::accepted;
use crate::cli::load::Ready;
use crate::cli::{Exit, Failure, Ui};
use crate::model::{Goal, GoalNews};
use crate::store::{Durability, Store};

/// The file of the state folder that a daemon watches: whoever changes something that it should
/// look at writes it.
pub const POKE: &str = "goals/poke";

/// Lets a daemon look again, if there is one.
pub fn poke(state: &Path) {
    // Without a daemon nobody misses it; with one, it looks again at the next slot anyway.
    let _ = std::fs::write(state.join(POKE), b"");
}

/// What became of a slot whose cycle did not begin. What nobody approved is not tried on and on:
/// the slot is skipped, and people are told.
///
/// That goes by the goal's own `notify`, so by no goal that nobody has seen as it is.
pub fn not_begun(
    ui: &Ui,
    (ready, goal): (&Ready, &Goal),
    begin: Begin,
    failure: Failure,
) -> Failure {
    let Some(slot) = begin.slot.filter(|_| failure.exit == Exit::Approval) else {
        return failure;
    };
    let state = ui.workspace().state;
    let Ok(store) = Store::open(&state, Durability::Full, ui.env.clock()) else {
        return failure;
    };
    let now = ui.env.now();
    let news = if matches!(accepted(ui, ready), Ok(Ok(()))) {
        notices(goal, GoalNews::Waiting, (&failure.message, None, now))
    } else {
        Vec::new()
    };
    let left = store.leave_out(&goal.id, (slot, begin.token), &failure.message, (news, now));
    // If that fails, the slot stays due and is tried again.
    let _ = left.wait();
    failure
}
