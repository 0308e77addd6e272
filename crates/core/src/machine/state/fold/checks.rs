//! The fold of the facts about checks and evidence.

use crate::machine::state::machine_state::TaskRecord;
use crate::machine::state::{self, MachineState, TaskIx};
use crate::machine::words::{Attempt, ReworkLoop, StaleFile, Standing, StepState};
use wf_model::{CheckPhase, Plan};

impl MachineState {
    /// Notes that a phase of checks is over, for an attempt or for the plan's own.
    pub(in crate::machine) fn record_phase_passed(
        &mut self,
        plan: &Plan,
        attempt: Option<&Attempt>,
        phase: CheckPhase,
    ) {
        let Some(attempt) = attempt else {
            self.passed = Some(phase);
            // The next phase is judged by itself.
            self.judged = None;
            return;
        };
        if let Some(record) = self.named_record_mut(plan, &attempt.place) {
            record.passed = Some(phase);
        }
    }

    /// Notes the phase that sent the work back, if one did.
    pub(in crate::machine) fn record_loop(&mut self, task: TaskIx, looped: Option<ReworkLoop>) {
        let Some(record) = self.task_record_mut(task) else {
            return;
        };
        if let Some(tries) = &mut record.tries {
            tries.looped = looped;
        }
        match looped.map(|looped| looped.phase) {
            Some(CheckPhase::Inspect) => record.inspector_loops += 1,
            Some(CheckPhase::Test) => record.tester_loops += 1,
            Some(CheckPhase::Verify) | None => {}
        }
    }
}

impl TaskRecord {
    /// Returns the number of used loops of a phase.
    pub(in crate::machine) fn loops_of(&self, phase: CheckPhase) -> u32 {
        match phase {
            CheckPhase::Inspect => self.inspector_loops,
            CheckPhase::Test => self.tester_loops,
            CheckPhase::Verify => 0,
        }
    }

    /// Returns the number of rework attempts, which `retry` does not count.
    pub(in crate::machine) fn loops(&self) -> u32 {
        self.inspector_loops.saturating_add(self.tester_loops)
    }

    /// Starts an attempt: no phase is over, and nothing is ignored any more.
    pub(in crate::machine) fn reset_checks(&mut self) {
        self.passed = None;
        self.ignored = false;
        self.is_unbounded = false;
    }

    /// Notes that an approver let a phase be ignored, and with it its findings.
    pub(in crate::machine) fn note_ignored_phase(&mut self) {
        self.ignored = true;
        if let Some(tries) = &mut self.tries {
            tries.failed.clear();
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
