//! What a new round does to the state: some steps begin anew, and all else stays.

use std::collections::BTreeSet;

use super::state::{ItemSlot, Offer, Spot, State, StepSlot};
use super::tries::Tries;
use super::{Fact, Phase, Standing, StepState};
use crate::model::{Plan, StepIx};
use crate::name::Name;
use crate::time::Moment;

impl State {
    /// Lets steps begin anew.
    pub(super) fn reopen(&mut self, plan: &Plan, names: &[Name], at: Moment) {
        let steps = names
            .iter()
            .filter_map(|name| Some(plan.find(name.as_str())?.0));
        let again: BTreeSet<u32> = steps.collect();
        for step in &again {
            let needs = &plan.step(StepIx(*step)).depends_on;
            // Items that ended well stay where others of them failed. Where all did, the step is
            // done otherwise, or what it needs is.
            let well = self.slot(*step).state == StepState::Succeeded;
            let same = !well && needs.iter().all(|ix| !again.contains(&ix.0));
            self.uncount(*step);
            self.keep_items(*step, same);
            let waiting = needs.iter().filter(|ix| again.contains(&ix.0)).count();
            // What does not begin anew keeps what hangs on it from beginning.
            let blocks = |ix: &&StepIx| {
                let slot = self.slot(ix.0);
                let well = slot.state == StepState::Succeeded || slot.tolerated;
                !well && !again.contains(&ix.0)
            };
            let blocker = needs.iter().find(blocks).map(|ix| ix.0);
            let slot = self.slot_mut(*step);
            *slot = StepSlot {
                waiting: u32::try_from(waiting).unwrap_or(u32::MAX),
                blocker,
                once: slot.once.anew(),
                ..StepSlot::default()
            };
            self.open += 1;
        }
        self.failed = None;
        self.stopping = None;
        self.judged = None;
        self.refuted.clear();
        self.phase = Phase::Steps;
        for step in again {
            if self.slot(step).waiting == 0 {
                self.becomes_due(step, at);
            }
        }
    }

    /// Keeps the result of an item for when its list is known.
    pub(super) fn offer(&mut self, plan: &Plan, fact: &Fact) {
        let Fact::ItemKept {
            step,
            key,
            outputs,
            standing,
            from,
        } = fact
        else {
            return;
        };
        if let Some(ix) = plan.find(step.as_str()) {
            let (outputs, standing, from) = (outputs.clone(), *standing, Some(from.clone()));
            self.offers.insert(
                (ix.0, key.clone()),
                Offer {
                    outputs,
                    standing,
                    from,
                },
            );
        }
    }

    /// Takes the end of a step back out of the tally.
    fn uncount(&mut self, step: u32) {
        let slot = &self.steps[step as usize];
        let count = match (slot.state, slot.standing) {
            (StepState::Succeeded, Standing::Verified) => &mut self.tally.verified,
            (StepState::Succeeded, _) => &mut self.tally.reported,
            (StepState::Failed, _) if slot.tolerated => &mut self.tally.tolerated,
            (StepState::Failed, _) => &mut self.tally.failed,
            (StepState::Skipped, _) => &mut self.tally.skipped,
            _ => &mut self.tally.cancelled,
        };
        *count = count.saturating_sub(1);
    }

    /// Keeps the results of items that ended well, if they would come to the same, and how often
    /// each was tried.
    fn keep_items(&mut self, step: u32, same: bool) {
        let spots = |set: &BTreeSet<Spot>| -> Vec<Spot> {
            set.iter()
                .filter(|spot| spot.step == step)
                .copied()
                .collect()
        };
        let Some(many) = self.slot_mut(step).many.take() else {
            let spot = Spot { step, item: None };
            self.evidence.remove(&spot);
            self.stale.remove(&spot);
            return;
        };
        for spot in spots(&self.evidence) {
            let slot = spot.item.and_then(|item| many.slots.get(item as usize));
            let kept = slot.is_some_and(|slot| slot.ended == Some(StepState::Succeeded));
            if !(same && kept) {
                self.evidence.remove(&spot);
                self.stale.remove(&spot);
            }
        }
        for ((item, slot), number) in many.items.into_iter().zip(many.slots).zip(0_u32..) {
            let spot = Spot {
                step,
                item: Some(number),
            };
            // Another list may have another item in its place.
            let tries = slot.tries.clone().filter(|_| same);
            self.made.insert(
                spot,
                ItemSlot {
                    tries,
                    ..slot.anew()
                },
            );
            if same && slot.ended == Some(StepState::Succeeded) {
                let outputs = slot.result.map(|gave| gave.outputs).unwrap_or_default();
                let (standing, from) = (slot.standing, None);
                let offer = Offer {
                    outputs,
                    standing,
                    from,
                };
                self.offers.insert((step, item.key), offer);
            } else {
                self.offers.remove(&(step, item.key));
            }
        }
    }
}

impl ItemSlot {
    /// A place that begins anew. Its attempts go on counting, and what was wrong with the last is
    /// still told.
    pub(super) fn anew(&self) -> Self {
        Self {
            attempts: self.attempts,
            base: self.attempts,
            tries: self.tries.clone(),
            ..Self::default()
        }
    }

    /// What attempts of this round came to: what is kept of an earlier one is for a correction.
    pub(super) fn own_tries(&self) -> Option<&Tries> {
        let tries = self.tries.as_deref();
        tries.filter(|tries| self.base == 0 || tries.attempt > self.base)
    }

    /// How many attempts were begun in this round.
    pub(super) fn made(&self) -> u32 {
        self.attempts.saturating_sub(self.base)
    }
}
