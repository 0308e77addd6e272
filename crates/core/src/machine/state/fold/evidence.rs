//! The fold of stale evidence.

use crate::machine::{
    state::{self, MachineState},
    words::{StaleFile, Standing, StepState},
};
use wf_model::Plan;

/// Downgrades a task, and the repeated step that it is an item of, to unverified success.
pub(in crate::machine::state) fn mark_stale(state: &mut MachineState, plan: &Plan, stale: &StaleFile) {
    let Some(task) = state::find_task_ix(plan, &stale.task_id) else {
        return;
    };
    if !state.is_verified(task) {
        return;
    }
    state.proof.mark_stale(task, stale.path.clone());
    if task.item.is_some()
        && let Some(record) = state.task_record_mut(task)
    {
        record.set_standing(Standing::Reported);
    }
    let record = state.step_record_mut(task.step);
    if record.state == StepState::Succeeded && record.standing.is_checked() {
        let before = std::mem::replace(&mut record.standing, Standing::Reported);
        let count = state.counts.of_end(StepState::Succeeded, before, false);
        *count = count.saturating_sub(1);
        state.counts.reported += 1;
    }
}
