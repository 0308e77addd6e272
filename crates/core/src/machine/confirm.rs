//! Evidence that is checked again: before a run ends, and whenever a file is reported as changed.

use crate::machine::state::{self, MachineState, TaskIx};
use crate::machine::turn::Machine;
use crate::machine::words::{
    Artifact, Attempt, Effect, EventKind, RunPhase, StaleFile, Standing, StepState, TaskId,
};
use wf_model::Plan;

impl Machine {
    /// Records the files that a result was checked with, if there are any.
    pub(in crate::machine) fn record_evidence(&mut self, attempt: &Attempt, files: Vec<Artifact>) {
        if !files.is_empty() {
            let attempt = attempt.clone();
            self.emit(EventKind::EvidenceTaken { attempt, files });
        }
    }

    /// Ends the run, after asking whether the evidence of verified tasks is still fresh.
    pub(in crate::machine) fn conclude(&mut self) {
        if self.state.is_force_cancelled() || self.state.tasks_with_fresh_evidence().next().is_none() {
            return self.end_run();
        }
        self.enter_phase(RunPhase::Confirm);
        self.ask_confirmation();
    }

    /// Asks again after a resume; all of the evidence may have gone stale in the meantime.
    pub(in crate::machine) fn resume_confirmation(&mut self) {
        if self.state.tasks_with_fresh_evidence().next().is_none() {
            self.end_run();
        } else {
            self.ask_confirmation();
        }
    }

    /// Asks whether evidence is still fresh.
    fn ask_confirmation(&mut self) {
        let tasks = self.state.tasks_with_fresh_evidence();
        let places: Vec<TaskId> = tasks.map(|task| state::task_id(&self.plan, task)).collect();
        self.turn.effects.push(Effect::Confirm { places });
    }

    /// Applies the answer and ends the run.
    pub(in crate::machine) fn on_confirmation(&mut self, stale: Vec<StaleFile>) {
        if self.state.phase == RunPhase::Confirm {
            for stale in stale {
                self.on_stale_evidence(stale);
            }
            self.end_run();
        }
    }

    /// Applies a change to a file of a task's evidence. It changes nothing if the task is not
    /// verified or not known, or if the change is reported twice.
    pub(in crate::machine) fn on_stale_evidence(&mut self, stale: StaleFile) {
        let task = self.task_ix(&stale.place);
        if task.is_some_and(|task| self.state.is_verified(task)) {
            self.emit(EventKind::EvidenceStale(stale));
        }
    }
}

impl MachineState {
    /// Returns the tasks whose evidence is still fresh, in plan order.
    pub(in crate::machine) fn tasks_with_fresh_evidence(&self) -> impl Iterator<Item = TaskIx> + '_ {
        let tasks = self.evidence.iter().copied();
        tasks.filter(|task| self.is_verified(*task))
    }

    /// True if a task ended checked and its evidence is not stale.
    pub(in crate::machine) fn is_verified(&self, task: TaskIx) -> bool {
        let record = self.step_record(task.step);
        match (task.item, &record.many) {
            (None, None) => record.state == StepState::Succeeded && record.standing.is_checked(),
            (Some(item), Some(many)) => many.records.get(item as usize).is_some_and(|record| {
                record.ended() == Some(StepState::Succeeded) && record.standing.is_checked()
            }),
            _ => false,
        }
    }

    /// Downgrades a task, and the repeated step that it is an item of, to unverified success.
    pub(in crate::machine) fn mark_stale(&mut self, plan: &Plan, stale: &StaleFile) {
        let Some(task) = state::find_task_ix(plan, &stale.place) else {
            return;
        };
        if !self.is_verified(task) {
            return;
        }
        self.stale.insert(task, stale.path.clone());
        if task.item.is_some()
            && let Some(record) = self.task_record_mut(task)
        {
            record.standing = Standing::Reported;
        }
        let record = self.step_record_mut(task.step);
        if record.state == StepState::Succeeded && record.standing.is_checked() {
            let before = std::mem::replace(&mut record.standing, Standing::Reported);
            let count = self.counts.of_end(StepState::Succeeded, before, false);
            *count = count.saturating_sub(1);
            self.counts.reported += 1;
        }
    }
}
