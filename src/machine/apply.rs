//! The fold: what each fact does to the state. Decides nothing.

use super::state::{self, Cancelled, Doing, Gave, ItemSlot, Live, Many, Spot, State};
use super::{Attempt, Cached, Exit, Fact, Item, Phase, Place, Standing, StepState, Verdict};
use crate::model::{Object, Plan, Work};
use crate::name::Name;
use crate::time::Moment;

impl State {
    /// Takes one more fact into account.
    pub(super) fn apply(&mut self, plan: &Plan, at: Moment, fact: &Fact) {
        match fact {
            Fact::RunStarted { .. } => self.begin(plan, at),
            Fact::StepKept {
                step,
                outputs,
                standing,
                ..
            } => {
                self.keep(plan, step, outputs, *standing);
            }
            Fact::StepExpanded { step, items } => self.expand(plan, step, items),
            Fact::CriterionJudged { attempt, verdict } => {
                if attempt.is_none() {
                    self.judge(verdict);
                }
            }
            Fact::RunStopping { step } => self.stopping = plan.find(step.as_str()).map(|ix| ix.0),
            Fact::CancelRequested { why, force } => {
                let why = why.clone();
                self.cancelled = Some(Cancelled { why, force: *force });
            }
            Fact::RunTimedOut => self.timed_out = true,
            Fact::PhaseEntered { phase } => self.enter(plan, *phase),
            Fact::RunEnded { outcome, .. } => {
                self.outcome = Some(*outcome);
                self.phase = Phase::Over;
            }
            of_a_place => self.apply_to_place(plan, at, of_a_place),
        }
    }

    fn apply_to_place(&mut self, plan: &Plan, at: Moment, fact: &Fact) {
        match fact {
            Fact::LockAwaited { place, .. } => {
                if let Some(spot) = self.leave_queue(plan, place) {
                    self.locking.insert(spot);
                }
            }
            Fact::CacheHit { place, found } => {
                let cached = Attempt {
                    place: place.clone(),
                    attempt: 0,
                };
                self.occupy(plan, at, &cached, Doing::Checking);
                self.give(plan, place, Gave::cached(found));
            }
            Fact::AttemptStarted(attempt) => self.occupy(plan, at, attempt, Doing::Working),
            Fact::AttemptEnded {
                attempt,
                how,
                outputs,
                artifacts,
                ..
            } => {
                let (outputs, artifacts) = (outputs.clone(), artifacts.clone());
                self.work_ended(
                    plan,
                    attempt,
                    how,
                    Gave {
                        outputs,
                        artifacts,
                        cached: None,
                    },
                );
            }
            Fact::RetryScheduled { attempt, due, .. } => {
                if let Some(spot) = self.vacate(plan, &attempt.place) {
                    self.resting.insert(spot, *due);
                    self.show(spot, StepState::Waiting);
                }
            }
            Fact::StepEnded { place, .. } => self.place_ended(plan, place, fact),
            _ => {}
        }
    }

    fn place_ended(&mut self, plan: &Plan, place: &Place, fact: &Fact) {
        let Fact::StepEnded {
            state,
            standing,
            class,
            tolerated,
            outputs,
            ..
        } = fact
        else {
            return;
        };
        let Some(spot) = self.vacate(plan, place) else {
            return;
        };
        if let Some(slot) = self.place_mut(spot) {
            slot.class = *class;
        }
        let end = End {
            state: *state,
            standing: *standing,
            tolerated: *tolerated,
        };
        self.end(plan, spot, end, outputs);
    }

    fn begin(&mut self, plan: &Plan, at: Moment) {
        self.started = Some(at);
        let main = plan.parts().main.min(self.steps.len());
        let free = (0_u32..).zip(self.steps.iter().take(main));
        self.due = free
            .filter(|(_, slot)| slot.waiting == 0)
            .map(|(step, _)| step)
            .collect();
    }

    fn keep(&mut self, plan: &Plan, step: &Name, outputs: &Object, standing: Standing) {
        let Some(ix) = plan.find(step.as_str()) else {
            return;
        };
        let end = End {
            state: StepState::Succeeded,
            standing,
            tolerated: false,
        };
        self.end(
            plan,
            Spot {
                step: ix.0,
                item: None,
            },
            end,
            outputs,
        );
        self.slot_mut(ix.0).outputs = Some(Box::new(outputs.clone()));
    }

    fn expand(&mut self, plan: &Plan, step: &Name, items: &[Item]) {
        let Some(ix) = plan.find(step.as_str()) else {
            return;
        };
        self.due.remove(&ix.0);
        let open = u32::try_from(items.len()).unwrap_or(u32::MAX);
        let room = plan.step(ix).max_parallel.unwrap_or(u32::MAX).min(open);
        let slots = vec![ItemSlot::default(); items.len()];
        let many = Many {
            items: items.to_vec(),
            slots,
            open,
            next: room,
        };
        let slot = self.slot_mut(ix.0);
        slot.many = Some(Box::new(many));
        slot.state = StepState::Queued;
        for item in 0..room {
            self.enqueue(
                plan,
                Spot {
                    step: ix.0,
                    item: Some(item),
                },
            );
        }
    }

    /// Takes a place out of every list of places that wait.
    fn leave_queue(&mut self, plan: &Plan, place: &Place) -> Option<Spot> {
        let spot = state::spot(plan, place)?;
        self.due.remove(&spot.step);
        self.queue.remove(&spot);
        self.roomless.remove(&spot);
        self.locking.remove(&spot);
        self.resting.remove(&spot);
        Some(spot)
    }

    /// Takes a place out of every list of places.
    fn vacate(&mut self, plan: &Plan, place: &Place) -> Option<Spot> {
        let spot = self.leave_queue(plan, place)?;
        self.free(spot);
        Some(spot)
    }

    /// Stops doing anything for a place.
    pub(super) fn free(&mut self, spot: Spot) {
        if self.live.remove(&spot).is_some_and(|live| live.room) {
            self.busy -= 1;
        }
    }

    /// Begins doing something for a place.
    pub(super) fn engage(&mut self, spot: Spot, live: Live) {
        self.free(spot);
        self.busy += u32::from(live.room);
        self.live.insert(spot, live);
    }

    fn occupy(&mut self, plan: &Plan, at: Moment, attempt: &Attempt, doing: Doing) {
        let Some(spot) = self.leave_queue(plan, &attempt.place) else {
            return;
        };
        let room = doing == Doing::Checking || takes_room(plan, spot);
        self.engage(
            spot,
            Live {
                attempt: attempt.attempt,
                since: at,
                doing,
                room,
            },
        );
        if plan.step(spot.ix()).concurrency.is_some() {
            self.locked.insert(spot);
        }
        if let Some(slot) = self.place_mut(spot) {
            slot.attempts = attempt.attempt;
            // What an attempt before this one gave was not confirmed.
            slot.result = None;
        }
        self.show(spot, StepState::Running);
    }

    fn work_ended(&mut self, plan: &Plan, attempt: &Attempt, how: &Exit, gave: Gave) {
        let Some(spot) = state::spot(plan, &attempt.place) else {
            return;
        };
        if how.is_success() {
            self.give(plan, &attempt.place, gave);
            if let Some(live) = self.live.get_mut(&spot) {
                live.doing = Doing::Checking;
            }
            self.show(spot, StepState::Verifying);
        } else {
            self.free(spot);
        }
    }

    fn give(&mut self, plan: &Plan, place: &Place, gave: Gave) {
        if let Some(slot) = state::spot(plan, place).and_then(|spot| self.place_mut(spot)) {
            slot.result = Some(Box::new(gave));
        }
    }

    fn judge(&mut self, verdict: &Verdict) {
        let held = self.judged.unwrap_or(true) && verdict.passed();
        self.judged = Some(held);
        if !verdict.passed() {
            self.refuted.push(verdict.name.to_string());
        }
    }

    /// Shows what a step does; of a repeated step, that something does.
    fn show(&mut self, spot: Spot, state: StepState) {
        let slot = self.slot_mut(spot.step);
        slot.state = if spot.item.is_some() {
            StepState::Running
        } else {
            state
        };
    }

    fn end(&mut self, plan: &Plan, spot: Spot, end: End, outputs: &Object) {
        self.locked.remove(&spot);
        if spot.item.is_some() {
            self.end_item(plan, spot, end);
        } else {
            self.end_step(plan, spot.step, end, outputs);
        }
    }

    fn end_item(&mut self, plan: &Plan, spot: Spot, end: End) {
        if let Some(slot) = self.place_mut(spot) {
            slot.ended = Some(end.state);
            slot.standing = end.standing;
        }
        let limited = plan.step(spot.ix()).max_parallel.is_some();
        let Some(many) = self.slot_mut(spot.step).many.as_mut() else {
            return;
        };
        many.open = many.open.saturating_sub(1);
        // An item that ended before its turn made no room for another.
        let had_turn = spot.item.is_some_and(|item| item < many.next);
        while many
            .slots
            .get(many.next as usize)
            .is_some_and(|slot| slot.ended.is_some())
        {
            many.next += 1;
        }
        if limited && had_turn && (many.next as usize) < many.slots.len() {
            let item = Some(many.next);
            many.next += 1;
            self.enqueue(
                plan,
                Spot {
                    step: spot.step,
                    item,
                },
            );
        }
    }

    fn end_step(&mut self, plan: &Plan, step: u32, end: End, outputs: &Object) {
        self.due.remove(&step);
        let slot = self.slot_mut(step);
        slot.state = end.state;
        slot.standing = end.standing;
        slot.tolerated = end.tolerated;
        let given = match slot.once.result.as_ref() {
            Some(gave) if outputs.is_empty() => gave.outputs.clone(),
            _ => outputs.clone(),
        };
        if end.state == StepState::Succeeded || slot.many.is_some() {
            slot.outputs = (!given.is_empty()).then(|| Box::new(given));
        }
        self.count(step, end);
        if plan.is_finally(crate::model::StepIx(step)) {
            let next = step + 1;
            if (next as usize) < self.steps.len() {
                self.due.insert(next);
            }
            return;
        }
        self.open = self.open.saturating_sub(1);
        let well = end.state == StepState::Succeeded || end.tolerated;
        for dependent in plan.dependents(crate::model::StepIx(step)) {
            let slot = self.slot_mut(dependent.0);
            slot.waiting = slot.waiting.saturating_sub(1);
            if !well && slot.blocker.is_none() {
                slot.blocker = Some(step);
            }
            if slot.waiting == 0 && slot.state == StepState::Pending {
                self.due.insert(dependent.0);
            }
        }
    }

    fn count(&mut self, step: u32, end: End) {
        match (end.state, end.standing) {
            (StepState::Succeeded, Standing::Verified) => self.tally.verified += 1,
            (StepState::Succeeded, _) => self.tally.reported += 1,
            (StepState::Failed, _) => self.tally.failed += 1,
            (StepState::Skipped, _) => self.tally.skipped += 1,
            _ => self.tally.cancelled += 1,
        }
        if end.state == StepState::Failed && !end.tolerated && self.failed.is_none() {
            self.failed = Some(step);
        }
    }

    fn enter(&mut self, plan: &Plan, phase: Phase) {
        self.phase = phase;
        let first = plan.parts().main;
        if phase == Phase::Finally && first < self.steps.len() {
            self.due.insert(u32::try_from(first).unwrap_or(u32::MAX));
        }
    }
}

impl Gave {
    fn cached(found: &Cached) -> Self {
        Self {
            outputs: found.outputs.clone(),
            artifacts: found.artifacts.clone(),
            cached: Some(found.key),
        }
    }
}

/// How a place ended.
#[derive(Clone, Copy)]
struct End {
    state: StepState,
    standing: Standing,
    tolerated: bool,
}

/// Whether the work of a step takes up room: waiting takes none.
pub(super) fn takes_room(plan: &Plan, spot: Spot) -> bool {
    !matches!(plan.step(spot.ix()).work, Work::Wait(_))
}
