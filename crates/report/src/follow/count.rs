//! The tasks of a run that have ended, counted as people count: an item is a task, and a repeated step is its items.

use std::collections::BTreeMap;

use wf_base::name::Name;
use wf_core::machine::{EventKind, StepState, TaskId};

/// The tasks of the outermost run, as far as they are known. It grows with the steps of the plan, and not with their items.
#[derive(Debug, Default)]
pub(super) struct TaskCounter {
    /// The ended steps; true: it failed, and that was not allowed. A step that starts again has not ended.
    steps: BTreeMap<Name, bool>,
    /// The items of each repeated step.
    items: BTreeMap<Name, TaskCount>,
}

/// Numbers of tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskCount {
    pub ended: usize,
    pub failed: usize,
    pub total: usize,
}

impl TaskCounter {
    /// Records an event of the run.
    pub fn record(&mut self, fact: &EventKind) {
        match fact {
            EventKind::StepExpanded { step, items } => {
                self.items.insert(step.clone(), TaskCount { total: items.len(), ..TaskCount::default() });
            }
            EventKind::StepEnded { task_id, state, allowed_to_fail, .. } => {
                self.record_end(task_id, *state == StepState::Failed && !allowed_to_fail);
            }
            EventKind::StepReused { step, .. } => self.record_end(&TaskId::of_step(step), false),
            EventKind::AttemptStarted(attempt) if attempt.task_id.item.is_none() => {
                self.steps.remove(&attempt.task_id.step);
            }
            _ => {}
        }
    }

    fn record_end(&mut self, task: &TaskId, is_failure: bool) {
        if task.item.is_none() {
            self.steps.insert(task.step.clone(), is_failure);
        } else if let Some(count) = self.items.get_mut(&task.step) {
            count.ended += 1;
            count.failed += usize::from(is_failure);
        }
    }

    /// Counts the tasks of a run with a number of steps.
    pub fn count(&self, step_count: usize) -> TaskCount {
        let total = step_count.saturating_sub(self.items.len());
        let whole = self.steps.iter().filter(|(step, _)| !self.items.contains_key(*step));
        let mut sum = TaskCount { total, ..TaskCount::default() };
        for (_, is_failure) in whole {
            sum.ended += 1;
            sum.failed += usize::from(*is_failure);
        }
        for count in self.items.values() {
            sum.ended += count.ended;
            sum.failed += count.failed;
            sum.total += count.total;
        }
        sum
    }

    /// Counts the items of a step; `None`: it is not repeated.
    pub fn count_items(&self, step: &Name) -> Option<TaskCount> {
        self.items.get(step).copied()
    }
}
