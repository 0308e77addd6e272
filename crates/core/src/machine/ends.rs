//! The effect of a task's end on the state.

use super::state::{MachineState, TaskIx};
use super::task_phase::TaskPhase;
use super::{Standing, StepState};
use wf_base::time::Moment;
use wf_model::{JsonObject, Plan};

/// The end of a task.
#[derive(Clone, Copy)]
pub(super) struct TaskEnd {
    pub(super) state: StepState,
    pub(super) standing: Standing,
    pub(super) allowed_to_fail: bool,
    /// The time of the end.
    pub(super) at: Moment,
}

impl TaskEnd {
    /// Creates the end of a task reused from an earlier run.
    pub(super) fn reused(standing: Standing, at: Moment) -> Self {
        Self { state: StepState::Succeeded, standing, allowed_to_fail: false, at }
    }
}

impl MachineState {
    pub(super) fn end(&mut self, plan: &Plan, spot: TaskIx, end: TaskEnd, outputs: &JsonObject) {
        self.move_task(spot, TaskPhase::Ended(end.state));
        if spot.item.is_some() {
            self.end_item(plan, spot, end);
        } else {
            self.end_step(plan, spot.step, end, outputs);
        }
    }

    fn end_item(&mut self, plan: &Plan, spot: TaskIx, end: TaskEnd) {
        if let Some(slot) = self.task_record_mut(spot) {
            slot.standing = end.standing;
        }
        let limited = plan.step(spot.ix()).max_parallel.is_some();
        let Some(many) = self.step_record_mut(spot.step).many.as_mut() else {
            return;
        };
        many.open = many.open.saturating_sub(1);
        // An item that ended before its turn made no room for another.
        let had_turn = spot.item.is_some_and(|item| item < many.next);
        while many.slots.get(many.next as usize).is_some_and(|slot| slot.ended().is_some()) {
            many.next += 1;
        }
        if limited && had_turn && (many.next as usize) < many.slots.len() {
            let item = Some(many.next);
            many.next += 1;
            self.move_task(TaskIx { step: spot.step, item }, TaskPhase::Queued);
        }
    }

    fn end_step(&mut self, plan: &Plan, step: u32, end: TaskEnd, outputs: &JsonObject) {
        let slot = self.step_record_mut(step);
        slot.state = end.state;
        slot.standing = end.standing;
        slot.allowed_to_fail = end.allowed_to_fail;
        let given = match slot.once.result.as_ref() {
            Some(gave) if outputs.is_empty() => gave.outputs.clone(),
            _ => outputs.clone(),
        };
        if end.state == StepState::Succeeded || slot.many.is_some() {
            slot.outputs = (!given.is_empty()).then(|| Box::new(given));
        }
        self.count(step, end);
        if plan.is_finally(wf_model::StepIx(step)) {
            self.open_last = self.open_last.saturating_sub(1);
            self.next_finally(step as usize + 1, end.at);
            return;
        }
        self.open = self.open.saturating_sub(1);
        let well = end.state == StepState::Succeeded || end.allowed_to_fail;
        for dependent in plan.dependents(wf_model::StepIx(step)) {
            let slot = self.step_record_mut(dependent.0);
            slot.waiting = slot.waiting.saturating_sub(1);
            if !well && slot.blocker.is_none() {
                slot.blocker = Some(step);
            }
            if slot.waiting == 0 && slot.state == StepState::Pending {
                self.becomes_due(dependent.0, end.at);
            }
        }
    }

    /// Makes a step due whose dependencies have ended.
    pub(super) fn becomes_due(&mut self, step: u32, at: Moment) {
        self.move_task(TaskIx { step, item: None }, TaskPhase::Due);
        self.step_record_mut(step).ready = Some(at);
    }

    fn count(&mut self, step: u32, end: TaskEnd) {
        match (end.state, end.standing) {
            (StepState::Succeeded, Standing::Verified) => self.counts.verified += 1,
            (StepState::Succeeded, _) => self.counts.reported += 1,
            (StepState::Failed, _) if end.allowed_to_fail => self.counts.allowed_to_fail += 1,
            (StepState::Failed, _) => self.counts.failed += 1,
            (StepState::Skipped, _) => self.counts.skipped += 1,
            _ => self.counts.cancelled += 1,
        }
        if end.state == StepState::Failed && !end.allowed_to_fail && self.failed.is_none() {
            self.failed = Some(step);
        }
    }
}
