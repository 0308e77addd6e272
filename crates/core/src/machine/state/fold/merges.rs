//! The fold of the facts about merges.

use crate::machine::{
    state::{self, MachineState, TaskIx, task_phase::ActivityKind},
    words::{EventKind, MergeOutcome, MergeSubject, RequestDecision, StepState},
};
use wf_model::Plan;

/// Applies a fact about a merge.
pub(in crate::machine::state) fn apply_merge(state: &mut MachineState, plan: &Plan, kind: &EventKind) {
    match kind {
        EventKind::MergeRequested(request) => {
            let Some(task) = state::find_task_ix(plan, &request.attempt.task_id) else {
                return;
            };
            if let Some(record) = state.task_record_mut(task) {
                record.request_merge(request.standing);
            }
            queue_merge(state, task);
        }
        EventKind::MergeStarted(start) => {
            if let Some(record) = state.named_record_mut(plan, &start.attempt.task_id) {
                record.start_merge(start.plan.clone());
            }
        }
        EventKind::MergeEnded(end) => {
            let Some(task) = state::find_task_ix(plan, &end.attempt.task_id) else {
                return;
            };
            state.agents.leave_merges(task);
            if let Some(record) = state.task_record_mut(task) {
                record.end_merge();
            }
            if end.outcome == MergeOutcome::Outdated {
                queue_merge(state, task);
            }
        }
        _ => {}
    }
}

fn queue_merge(state: &mut MachineState, task: TaskIx) {
    state.set_activity(task, ActivityKind::Merging);
    state.set_step_state(task, StepState::Verifying);
    state.agents.queue_merge(task);
}

/// Queues an approved merge again; any other stays out of the queue.
pub(in crate::machine::state) fn apply_merge_answer(
    state: &mut MachineState,
    task: TaskIx,
    subject: &MergeSubject,
    decision: RequestDecision,
) {
    if decision != RequestDecision::Approved || subject.by_hand {
        return state.set_activity(task, ActivityKind::Merging);
    }
    if let Some(record) = state.task_record_mut(task) {
        record.approve_merge(subject.result.clone());
    }
    queue_merge(state, task);
}
