//! The phase of each task, and the index over the phases.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::machine::{
    state::{MachineState, TaskIx, attempt, parts::task_record::TaskRecord},
    words::{RunPhase, StepState},
};
use wf_base::time::Moment;
use wf_model::Plan;

/// The place of a task on its way to its end, as far as events tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::machine) enum TaskPhase {
    /// It waits for dependencies or siblings; a repeated step waits for its items.
    #[default]
    Pending,
    /// The dependencies of its step have ended.
    Due,
    /// It may begin as soon as there is room.
    Queued,
    /// It waits for a lock.
    Locking,
    /// An activity is under way.
    Active(TaskActivity),
    /// An attempt failed; the same turn decides what follows.
    Undecided,
    /// It waits for its next attempt, due at the time.
    Resting(Moment),
    Ended(StepState),
}

/// The activity for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::machine) struct TaskActivity {
    pub(in crate::machine) attempt: u32,
    pub(in crate::machine) since: Moment,
    pub(in crate::machine) doing: ActivityKind,
    /// True if it takes up room.
    pub(in crate::machine) room: bool,
}

/// The kind of an activity for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::machine) enum ActivityKind {
    /// Its work runs.
    Working,
    /// Its checks run.
    Checking,
    /// The gates after its work are asked.
    Leaving,
    /// The changes of its agent in a worktree are merged, or wait for their turn.
    Merging,
    /// An approval is pending.
    Asking,
    /// The planner is asked about its failed attempts.
    Consulting,
}

/// The indexes over the phases of all tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::machine) struct TaskIndex {
    /// Tasks with an activity under way.
    pub(in crate::machine) active: BTreeSet<TaskIx>,
    /// The number of them in a room.
    pub(in crate::machine) busy: u32,
}

impl TaskPhase {
    /// Returns the activity under way.
    pub(in crate::machine) fn activity(self) -> Option<TaskActivity> {
        match self {
            Self::Active(activity) => Some(activity),
            _ => None,
        }
    }
}

impl TaskActivity {
    /// True for a pending approval before the task has begun.
    pub(in crate::machine) fn is_asking_first(self) -> bool {
        self.doing == ActivityKind::Asking && self.attempt == 0
    }
}

impl TaskIndex {
    /// Notes that a task moves from one phase to another.
    pub(in crate::machine) fn note(&mut self, task: TaskIx, old_phase: TaskPhase, phase: TaskPhase) {
        if let Some(activity) = old_phase.activity() {
            self.busy -= u32::from(activity.room);
            self.active.remove(&task);
        }
        if let Some(activity) = phase.activity() {
            self.busy += u32::from(activity.room);
            self.active.insert(task);
        }
    }
}

impl MachineState {
    /// Moves a task to another phase. Nothing else changes a phase, or an index over them.
    pub(in crate::machine) fn move_task(&mut self, task: TaskIx, phase: TaskPhase) {
        if let Some(record) = self.task_record_mut(task) {
            let from = record.move_to(phase);
            self.index.note(task, from, phase);
            self.moved.push((task, phase));
        }
    }

    /// Switches the activity for a task, in the room that it has.
    pub(in crate::machine) fn set_activity(&mut self, task: TaskIx, kind: ActivityKind) {
        if let Some(activity) = self.activity(task) {
            self.move_task(task, TaskPhase::Active(TaskActivity { doing: kind, ..activity }));
        }
    }

    /// Returns the activity under way for a task.
    pub(in crate::machine) fn activity(&self, task: TaskIx) -> Option<TaskActivity> {
        self.task_record(task)?.phase().activity()
    }

    /// Returns all activities under way, in order.
    pub(in crate::machine) fn activities(&self) -> Vec<(TaskIx, TaskActivity)> {
        let active = self.index.active.iter();
        active.filter_map(|task| Some((*task, self.activity(*task)?))).collect()
    }

    /// True if people are waited for, and nothing else is under way: no task acts, or waits for a time. `nested` are the
    /// nested runs in the same wait, by the names of their attempts.
    pub fn only_waits_for_people(&self, plan: &Plan, nested: &BTreeSet<String>) -> bool {
        let waits = |(task, activity): &(TaskIx, TaskActivity)| match activity.doing {
            ActivityKind::Asking => true,
            ActivityKind::Working => {
                let attempt = attempt(plan, *task, activity.attempt);
                nested.contains(&attempt.to_string()) || self.only_collects(*task, &attempt, nested)
            }
            _ => false,
        };
        let is_quiet = |(_, record): (TaskIx, &TaskRecord)| match record.phase() {
            TaskPhase::Pending | TaskPhase::Active(_) | TaskPhase::Ended(_) => true,
            // No step begins before the gates of the run let it.
            TaskPhase::Due => self.phase == RunPhase::Gates,
            _ => false,
        };
        let is_any = self.gates.pending_approvals().next().is_some() || !nested.is_empty();
        is_any && self.activities().iter().all(waits) && self.tasks().all(is_quiet)
    }

    /// Returns the records of all tasks, in order; a repeated step comes before its items.
    pub(in crate::machine) fn tasks(&self) -> impl Iterator<Item = (TaskIx, &TaskRecord)> {
        (0_u32..)
            .zip(&self.steps)
            .flat_map(|(step, record)| record.tasks().map(move |(item, task)| (TaskIx { step, item }, task)))
    }

    /// Sets the displayed state of a step; a repeated step is displayed as running.
    pub(in crate::machine) fn set_step_state(&mut self, task: TaskIx, state: StepState) {
        let record = self.step_record_mut(task.step);
        record.state = if task.item.is_some() { StepState::Running } else { state };
    }
}

impl TaskIndex {
    /// Returns the indexes over all records.
    pub(in crate::machine) fn scan(state: &MachineState) -> Self {
        let mut index = Self::default();
        for (task, record) in state.tasks() {
            index.note(task, TaskPhase::Pending, record.phase());
        }
        index
    }
}
