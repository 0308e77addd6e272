//! The end of a task: as it is decided, and its effect on the state.

use crate::machine::{
    state::{MachineState, TaskIx, task_phase::TaskPhase},
    words::{Standing, StepState},
};
use wf_base::time::Moment;
use wf_model::{FailureClass, JsonObject, Plan};

/// The end that the machine decides for a task.
#[derive(Clone, Debug)]
pub(in crate::machine) struct TaskCompletion {
    pub(in crate::machine) state: StepState,
    pub(in crate::machine) standing: Standing,
    pub(in crate::machine) failure_class: Option<FailureClass>,
    pub(in crate::machine) reason: String,
}

impl TaskCompletion {
    pub(in crate::machine) fn success(standing: Standing) -> Self {
        Self { state: StepState::Succeeded, standing, failure_class: None, reason: String::new() }
    }

    pub(in crate::machine) fn failure(
        standing: Standing,
        failure_class: Option<FailureClass>,
        reason: String,
    ) -> Self {
        Self { state: StepState::Failed, standing, failure_class, reason }
    }

    /// Returns the failure of a task that cannot even begin.
    pub(in crate::machine) fn unstartable(reason: impl Into<String>) -> Self {
        Self::failure(Standing::Unchecked, Some(FailureClass::Logical), reason.into())
    }

    pub(in crate::machine) fn skipped(reason: impl Into<String>) -> Self {
        let standing = Standing::Unchecked;
        Self { state: StepState::Skipped, standing, failure_class: None, reason: reason.into() }
    }

    pub(in crate::machine) fn cancelled(reason: impl Into<String>) -> Self {
        Self { state: StepState::Cancelled, ..Self::skipped(reason) }
    }
}

/// The end of a task, as the state records it.
#[derive(Clone, Copy)]
pub(in crate::machine) struct TaskEnd {
    pub(in crate::machine) state: StepState,
    pub(in crate::machine) standing: Standing,
    pub(in crate::machine) allowed_to_fail: bool,
    pub(in crate::machine) at: Moment,
}

impl TaskEnd {
    /// Creates the end of a task reused from an earlier run.
    pub(in crate::machine) fn reused(standing: Standing, at: Moment) -> Self {
        Self { state: StepState::Succeeded, standing, allowed_to_fail: false, at }
    }
}

pub(in crate::machine) fn end(
    state: &mut MachineState,
    plan: &Plan,
    task: TaskIx,
    end: TaskEnd,
    outputs: &JsonObject,
) {
    state.move_task(task, TaskPhase::Ended(end.state));
    if task.item.is_some() {
        end_item(state, plan, task, end);
    } else {
        end_step(state, plan, task.step, end, outputs);
    }
}

fn end_item(state: &mut MachineState, plan: &Plan, task: TaskIx, end: TaskEnd) {
    if let Some(record) = state.task_record_mut(task) {
        record.set_standing(end.standing);
    }
    let limited = plan.step(task.ix()).max_parallel.is_some();
    let Some(many) = state.step_record_mut(task.step).many.as_mut() else {
        return;
    };
    many.open = many.open.saturating_sub(1);
    // An item that ended before its turn made no room for another.
    let had_turn = task.item.is_some_and(|item| item < many.next);
    while many.records.get(many.next as usize).is_some_and(|record| record.ended().is_some()) {
        many.next += 1;
    }
    if limited && had_turn && (many.next as usize) < many.records.len() {
        let item = Some(many.next);
        many.next += 1;
        state.move_task(TaskIx { step: task.step, item }, TaskPhase::Queued);
    }
}

fn end_step(state: &mut MachineState, plan: &Plan, step: u32, end: TaskEnd, outputs: &JsonObject) {
    let record = state.step_record_mut(step);
    record.state = end.state;
    record.standing = end.standing;
    record.allowed_to_fail = end.allowed_to_fail;
    let own = match record.once.result() {
        Some(result) if outputs.is_empty() => result.outputs.clone(),
        _ => outputs.clone(),
    };
    if end.state == StepState::Succeeded || record.many.is_some() {
        record.outputs = (!own.is_empty()).then(|| Box::new(own));
    }
    count(state, step, end);
    if plan.is_finally(wf_model::StepIx(step)) {
        state.open_last = state.open_last.saturating_sub(1);
        state.next_finally(step as usize + 1, end.at);
        return;
    }
    state.open = state.open.saturating_sub(1);
    let well = end.state == StepState::Succeeded || end.allowed_to_fail;
    for dependent in plan.dependents(wf_model::StepIx(step)) {
        let record = state.step_record_mut(dependent.0);
        record.waiting = record.waiting.saturating_sub(1);
        if !well && record.blocker.is_none() {
            record.blocker = Some(step);
        }
        if record.waiting == 0 && record.state == StepState::Pending {
            becomes_due(state, dependent.0, end.at);
        }
    }
}

/// Makes a step due whose dependencies have ended.
pub(in crate::machine) fn becomes_due(state: &mut MachineState, step: u32, at: Moment) {
    state.move_task(TaskIx { step, item: None }, TaskPhase::Due);
    state.step_record_mut(step).ready = Some(at);
}

fn count(state: &mut MachineState, step: u32, end: TaskEnd) {
    *state.counts.of_end(end.state, end.standing, end.allowed_to_fail) += 1;
    if end.state == StepState::Failed && !end.allowed_to_fail && state.failed.is_none() {
        state.failed = Some(step);
    }
}
