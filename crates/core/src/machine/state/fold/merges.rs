//! The fold of the facts about merges.

use serde::{Deserialize, Serialize};

use crate::machine::{
    state::{self, MachineState, TaskIx, task_phase::ActivityKind},
    words::{EventKind, MergeOutcome, MergePlan, MergeSubject, RequestDecision, Standing, StepState},
};
use wf_model::Plan;

/// The merge of a task's attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct TaskMerge {
    /// The verification status of the step once it is merged.
    pub(in crate::machine) standing: Standing,
    /// The result that approvers let be merged.
    pub(in crate::machine) approved: Option<String>,
    /// The merge under way.
    pub(in crate::machine) plan: Option<MergePlan>,
    /// The number of times that it ended.
    pub(in crate::machine) outdated: u32,
}

/// Applies a fact about a merge.
pub(in crate::machine) fn apply_merge(state: &mut MachineState, plan: &Plan, kind: &EventKind) {
    match kind {
        EventKind::MergeRequested(request) => {
            let Some(task) = state::find_task_ix(plan, &request.attempt.task_id) else {
                return;
            };
            if let Some(record) = state.task_record_mut(task) {
                record.merge = Some(Box::new(TaskMerge {
                    standing: request.standing,
                    approved: None,
                    plan: None,
                    outdated: 0,
                }));
            }
            queue_merge(state, task);
        }
        EventKind::MergeStarted(start) => {
            let record = state.named_record_mut(plan, &start.attempt.task_id);
            if let Some(merge) = record.and_then(|record| record.merge.as_mut()) {
                merge.plan = Some(start.plan.clone());
            }
        }
        EventKind::MergeEnded(end) => {
            let Some(task) = state::find_task_ix(plan, &end.attempt.task_id) else {
                return;
            };
            leave_merges(state, task);
            let record = state.task_record_mut(task);
            if let Some(merge) = record.and_then(|record| record.merge.as_mut()) {
                merge.plan = None;
                merge.outdated += 1;
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
    state.agents.merges.push(task);
}

/// Removes a task from the queue of merges, if it is there.
pub(in crate::machine) fn leave_merges(state: &mut MachineState, task: TaskIx) {
    state.agents.merges.retain(|other| *other != task);
}

/// Queues a merge again that was approved; any other stays out of the queue.
pub(in crate::machine) fn apply_merge_answer(
    state: &mut MachineState,
    task: TaskIx,
    subject: &MergeSubject,
    decision: RequestDecision,
) {
    if decision != RequestDecision::Approved || subject.by_hand {
        return state.set_activity(task, ActivityKind::Merging);
    }
    let record = state.task_record_mut(task);
    if let Some(merge) = record.and_then(|record| record.merge.as_mut()) {
        merge.approved = Some(subject.result.clone());
    }
    queue_merge(state, task);
}
