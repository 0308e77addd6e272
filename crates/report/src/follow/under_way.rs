use std::collections::BTreeMap;

use super::OutputTail;
use crate::ItemNames;
use wf_base::{name::Name, time::Moment};
use wf_core::machine::{CheckVerdict, FailureCount, StepState, TaskId};

/// A run in progress.
#[derive(Debug)]
pub(super) struct RunInProgress {
    pub(super) path: Vec<String>,
    pub(super) places: BTreeMap<TaskId, TaskInProgress>,
}

/// A task that has started.
#[derive(Debug)]
pub(super) struct TaskInProgress {
    pub(super) since: Moment,
    pub(super) attempt: u32,
    pub(super) checking: bool,
    pub(super) waiting: bool,
    pub(super) nested: bool,
    pub(super) failed_checks: Vec<CheckVerdict>,
    /// The number of criteria with a verdict.
    pub(super) verdict_count: u32,
    pub(super) output_tail: OutputTail,
}

/// A task on view while it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct DisplayedTask {
    /// The task with those above it.
    pub subject: String,
    /// The start of its first attempt.
    pub since: Moment,
    /// The number of its current attempt.
    pub attempt: u32,
    /// The current state.
    pub state: StepState,
    /// The repeated step of the outermost run that it is an item of.
    pub items_of: Option<Name>,
    /// The last line of its output; empty: there is none yet.
    pub last_line: String,
}

impl TaskInProgress {
    /// Returns the number of failed criteria of its attempt, if they were checked.
    pub(super) fn gap(&self) -> Option<FailureCount> {
        (self.verdict_count > 0).then(|| FailureCount {
            attempt: self.attempt,
            failed: u32::try_from(self.failed_checks.len()).unwrap_or(u32::MAX),
            of: self.verdict_count,
        })
    }

    /// A task starting an attempt.
    pub(super) fn new(since: Moment, attempt: u32) -> Self {
        Self {
            since,
            attempt,
            checking: false,
            waiting: false,
            nested: false,
            failed_checks: Vec::new(),
            verdict_count: 0,
            output_tail: OutputTail::default(),
        }
    }

    /// Returns the current state.
    pub(super) fn state(&self) -> StepState {
        match self {
            Self { waiting: true, .. } => StepState::Waiting,
            Self { checking: true, .. } => StepState::Verifying,
            _ => StepState::Running,
        }
    }
}

/// The path of a task: the tasks above it, and itself.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NestedTaskPath<'o> {
    /// The tasks above, with their items in order.
    parents: Vec<Option<TaskId>>,
    path: &'o [String],
    task_id: &'o TaskId,
}

impl NestedTaskPath<'_> {
    /// Returns the display name of the task.
    pub(super) fn subject(&self, names: &ItemNames) -> String {
        names.subject(self.path, self.task_id)
    }

    /// Returns the repeated step of the outermost run that the task is an item of.
    pub(super) fn repeated_step(&self) -> Option<&Name> {
        let is_item = self.path.is_empty() && self.task_id.item.is_some();
        is_item.then_some(&self.task_id.step)
    }
}

impl RunInProgress {
    /// The tasks that do work of their own, each with its start.
    pub(super) fn running_tasks(
        &self,
    ) -> impl Iterator<Item = (Moment, NestedTaskPath<'_>, &TaskInProgress)> {
        let visible = self.places.iter().filter(|(_, busy)| !busy.nested);
        visible.map(|(task_id, busy)| {
            let above = self.path.iter().map(|above| above.parse().ok()).collect();
            let path = &self.path;
            (busy.since, NestedTaskPath { parents: above, path, task_id }, busy)
        })
    }
}
