//! Evidence that is checked again: before a run ends, and whenever a file is reported as changed.

use crate::machine::state::{self, Run};
use crate::machine::words::{Artifact, Attempt, Effect, EventKind, RunPhase, StaleFile, TaskId};

impl Run {
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
