//! The effect of a new round on the state: some steps are reopened, and all else stays.

use std::collections::BTreeSet;

use crate::machine::state::fold::reused::ReusableResult;
use crate::machine::state::history::AttemptHistory;
use crate::machine::state::machine_state::{StepRecord, TaskRecord};
use crate::machine::state::{MachineState, TaskIx};
use crate::machine::words::{RunPhase, StepState};
use wf_base::name::Name;
use wf_base::time::Moment;
use wf_model::{Plan, StepIx};

impl MachineState {
    /// Reopens steps.
    pub(in crate::machine) fn reopen(&mut self, plan: &Plan, names: &[Name], at: Moment) {
        let steps = names.iter().filter_map(|name| Some(plan.find(name.as_str())?.0));
        let again: BTreeSet<u32> = steps.collect();
        for step in &again {
            let needs = &plan.step(StepIx(*step)).depends_on;
            // Items that ended well stay if others of them failed. If all ended well, the step
            // itself or a dependency of it changes.
            let well = self.step_record(*step).state == StepState::Succeeded;
            let same = !well && needs.iter().all(|ix| !again.contains(&ix.0));
            self.uncount(*step);
            self.keep_items(*step, same);
            let waiting = needs.iter().filter(|ix| again.contains(&ix.0)).count();
            // A dependency that failed and is not reopened blocks the step.
            let blocks = |ix: &&StepIx| {
                let record = self.step_record(ix.0);
                let well = record.state == StepState::Succeeded || record.allowed_to_fail;
                !well && !again.contains(&ix.0)
            };
            let blocker = needs.iter().find(blocks).map(|ix| ix.0);
            let record = self.step_record_mut(*step);
            *record = StepRecord {
                waiting: u32::try_from(waiting).unwrap_or(u32::MAX),
                blocker,
                once: record.once.for_next_round(),
                ..StepRecord::default()
            };
            self.open += 1;
        }
        self.failed = None;
        self.stopping = None;
        self.judged = None;
        self.refuted.clear();
        self.phase = RunPhase::Steps;
        for step in again {
            if self.step_record(step).waiting == 0 {
                self.becomes_due(step, at);
            }
        }
    }

    /// Removes the end of a step from the tally.
    fn uncount(&mut self, step: u32) {
        let record = &self.steps[step as usize];
        let count = self.counts.of_end(record.state, record.standing, record.allowed_to_fail);
        *count = count.saturating_sub(1);
    }

    /// Keeps the results of items that ended well, if they would come to the same, and the number
    /// of attempts of each.
    fn keep_items(&mut self, step: u32, same: bool) {
        let tasks = |set: &BTreeSet<TaskIx>| -> Vec<TaskIx> {
            set.iter().filter(|task| task.step == step).copied().collect()
        };
        let Some(many) = self.step_record_mut(step).many.take() else {
            let task = TaskIx { step, item: None };
            self.evidence.remove(&task);
            self.stale.remove(&task);
            return;
        };
        for task in tasks(&self.evidence) {
            let record = task.item.and_then(|item| many.records.get(item as usize));
            let kept = record.is_some_and(|record| record.ended() == Some(StepState::Succeeded));
            if !(same && kept) {
                self.evidence.remove(&task);
                self.stale.remove(&task);
            }
        }
        for ((item, record), number) in many.items.into_iter().zip(many.records).zip(0_u32..) {
            let task = TaskIx { step, item: Some(number) };
            // Another list may have another item at this position.
            let tries = record.tries.clone().filter(|_| same);
            self.made.insert(task, TaskRecord { tries, ..record.for_next_round() });
            if same && record.ended() == Some(StepState::Succeeded) {
                let outputs = record.result.map(|result| result.outputs).unwrap_or_default();
                let (standing, from) = (record.standing, None);
                // The state still knows of its evidence, and the list is the same.
                let offer =
                    ReusableResult { outputs, standing, from, has_evidence: false, item_digest: None };
                self.offers.insert((step, item.key), offer);
            } else {
                self.offers.remove(&(step, item.key));
            }
        }
    }
}

impl TaskRecord {
    /// Returns a reopened task. Its attempts go on counting, and the next one is still told what
    /// was wrong with the last.
    fn for_next_round(&self) -> Self {
        Self {
            attempts: self.attempts,
            base: self.attempts,
            tries: self.tries.clone(),
            untrusted: self.untrusted.clone(),
            ..Self::default()
        }
    }

    /// Returns the results of this round's attempts; those of an earlier one feed a correction.
    pub(in crate::machine) fn history_of_round(&self) -> Option<&AttemptHistory> {
        let tries = self.tries.as_deref();
        tries.filter(|tries| self.base == 0 || tries.attempt > self.base)
    }

    /// Returns the number of attempts that were begun in this round.
    pub(in crate::machine) fn attempts_of_round(&self) -> u32 {
        self.attempts.saturating_sub(self.base)
    }
}

impl MachineState {
    /// True if a task has begun no attempt in this round.
    pub(in crate::machine) fn is_untried(&self, task: TaskIx) -> bool {
        self.task_record(task).is_some_and(|record| record.attempts_of_round() == 0)
    }
}
