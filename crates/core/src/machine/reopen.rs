//! The effect of a new round on the state: some steps are reopened, and all else stays.

use std::collections::BTreeSet;

use super::state::{MachineState, ReusableResult, StepRecord, TaskIx, TaskRecord};
use super::tries::AttemptHistory;
use super::{EventKind, RunPhase, Standing, StepState};
use wf_base::name::Name;
use wf_base::time::Moment;
use wf_model::{Plan, StepIx};

impl MachineState {
    /// Reopens steps.
    pub(super) fn reopen(&mut self, plan: &Plan, names: &[Name], at: Moment) {
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
                let slot = self.step_record(ix.0);
                let well = slot.state == StepState::Succeeded || slot.allowed_to_fail;
                !well && !again.contains(&ix.0)
            };
            let blocker = needs.iter().find(blocks).map(|ix| ix.0);
            let slot = self.step_record_mut(*step);
            *slot = StepRecord {
                waiting: u32::try_from(waiting).unwrap_or(u32::MAX),
                blocker,
                once: slot.once.for_next_round(),
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

    /// Stores the result of an item until its list is known.
    pub(super) fn offer_item(&mut self, plan: &Plan, fact: &EventKind) {
        let EventKind::ItemReused { step, item_key: key, outputs, standing, reused_from: from } = fact else {
            return;
        };
        if let Some(ix) = plan.find(step.as_str()) {
            let (outputs, standing, from) = (outputs.clone(), *standing, Some(from.clone()));
            self.offers.insert((ix.0, key.clone()), ReusableResult { outputs, standing, from });
        }
    }

    /// Removes the end of a step from the tally.
    fn uncount(&mut self, step: u32) {
        let slot = &self.steps[step as usize];
        let count = match (slot.state, slot.standing) {
            (StepState::Succeeded, Standing::Verified) => &mut self.counts.verified,
            (StepState::Succeeded, _) => &mut self.counts.reported,
            (StepState::Failed, _) if slot.allowed_to_fail => &mut self.counts.allowed_to_fail,
            (StepState::Failed, _) => &mut self.counts.failed,
            (StepState::Skipped, _) => &mut self.counts.skipped,
            _ => &mut self.counts.cancelled,
        };
        *count = count.saturating_sub(1);
    }

    /// Keeps the results of items that ended well, if they would come to the same, and the number
    /// of attempts of each.
    fn keep_items(&mut self, step: u32, same: bool) {
        let spots = |set: &BTreeSet<TaskIx>| -> Vec<TaskIx> {
            set.iter().filter(|spot| spot.step == step).copied().collect()
        };
        let Some(many) = self.step_record_mut(step).many.take() else {
            let spot = TaskIx { step, item: None };
            self.evidence.remove(&spot);
            self.stale.remove(&spot);
            return;
        };
        for spot in spots(&self.evidence) {
            let slot = spot.item.and_then(|item| many.slots.get(item as usize));
            let kept = slot.is_some_and(|slot| slot.ended() == Some(StepState::Succeeded));
            if !(same && kept) {
                self.evidence.remove(&spot);
                self.stale.remove(&spot);
            }
        }
        for ((item, slot), number) in many.items.into_iter().zip(many.slots).zip(0_u32..) {
            let spot = TaskIx { step, item: Some(number) };
            // Another list may have another item at this position.
            let tries = slot.tries.clone().filter(|_| same);
            self.made.insert(spot, TaskRecord { tries, ..slot.for_next_round() });
            if same && slot.ended() == Some(StepState::Succeeded) {
                let outputs = slot.result.map(|gave| gave.outputs).unwrap_or_default();
                let (standing, from) = (slot.standing, None);
                let offer = ReusableResult { outputs, standing, from };
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
    pub(super) fn for_next_round(&self) -> Self {
        Self { attempts: self.attempts, base: self.attempts, tries: self.tries.clone(), ..Self::default() }
    }

    /// Returns the results of this round's attempts; those of an earlier one feed a correction.
    pub(super) fn history_of_round(&self) -> Option<&AttemptHistory> {
        let tries = self.tries.as_deref();
        tries.filter(|tries| self.base == 0 || tries.attempt > self.base)
    }

    /// Returns the number of attempts that were begun in this round.
    pub(super) fn attempts_of_round(&self) -> u32 {
        self.attempts.saturating_sub(self.base)
    }
}
