//! How places and runs end, and what that does to others.

use std::sync::Arc;

use serde_json::Value;

use super::advance::wait_end;
use super::end::Final;
use super::state::{self, Doing, Spot};
use super::{Attempt, Effect, Exit, Fact, Machine, Place, Standing, StepState, Timer};
use crate::digest::Digest;
use crate::model::{Class, Object, OnError, StepIx, Work};

impl Machine {
    /// Decides what follows a failed attempt: another one, or the end of the place.
    pub(super) fn failed(&mut self, spot: Spot, made: u32, exit: &Exit, class: Option<Class>) {
        // Work that was cancelled though nobody told it to end has failed like any other.
        if self.halting(spot) {
            return self.finish(spot, Final::cancelled(self.halting_why()));
        }
        let why = exit.to_string();
        if !self.again(spot, made, class, &why) {
            self.finish(spot, Final::bad(Standing::Unchecked, class, why));
        }
    }

    /// Decides what follows an attempt whose claim a check refuted.
    pub(super) fn refuted(&mut self, spot: Spot, made: u32, class: Option<Class>, why: String) {
        if !self.again(spot, made, class, &why) {
            self.finish(spot, Final::bad(Standing::Refuted, class, why));
        }
    }

    /// Schedules another attempt if the step's `retry` grants one.
    fn again(&mut self, spot: Spot, made: u32, class: Option<Class>, why: &str) -> bool {
        let plan = Arc::clone(&self.plan);
        let step = plan.step(spot.ix());
        let retry = &step.retry;
        let repeat = class == Some(Class::Interrupted) && step.idempotent;
        // What was tried in earlier rounds was tried in another way, and what `inspect` and `test`
        // send back is counted by itself.
        let before = (self.state.place(spot)).map_or(0, |slot| slot.base + slot.loops());
        let own = made.saturating_sub(before);
        let granted = class.is_some_and(|class| retry.on.contains(&class)) && own <= retry.max;
        // There is no number for an attempt after the last.
        let Some(next) = made.checked_add(1).filter(|_| repeat || granted) else {
            return false;
        };
        if !self.affords(spot) {
            return false;
        }
        let attempt = state::attempt(&plan, spot, next);
        let wait = if repeat {
            std::time::Duration::ZERO
        } else {
            retry.delay(own, self.seed(&attempt))
        };
        let due = self.now.after(wait);
        let why = why.to_owned();
        self.emit(Fact::RetryScheduled {
            attempt: attempt.clone(),
            due,
            why,
            looped: None,
        });
        self.turn.effects.push(Effect::Wake {
            timer: Timer::Retry(attempt),
            at: due,
        });
        true
    }

    fn seed(&self, attempt: &Attempt) -> u64 {
        let name = attempt.to_string();
        let digest = Digest::of_parts([self.state.run.as_str().as_bytes(), name.as_bytes()]);
        digest
            .bytes()
            .iter()
            .take(8)
            .fold(0, |seed, byte| seed << 8 | u64::from(*byte))
    }

    /// Ends a place, and with its last place a repeated step.
    pub(super) fn finish(&mut self, spot: Spot, end: Final) {
        let tolerated = end.state == StepState::Failed && self.tolerates(spot.step);
        let slot = self.state.place(spot);
        let gave = slot.and_then(|slot| slot.result.as_deref().cloned());
        let state = &self.state;
        let sets = [&state.locked, &state.locking, &state.returning];
        let held = sets.iter().any(|set| set.contains(&spot));
        let place = state::place(&self.plan, spot);
        let step = self.plan.step(spot.ix());
        if held && let Some(lock) = step.concurrency.clone() {
            self.turn.effects.push(Effect::Unlock {
                place: place.clone(),
                lock,
            });
        }
        let good = end.state == StepState::Succeeded;
        let gave = gave.filter(|_| good).unwrap_or_default();
        if good && step.cache.is_some() && gave.cached.is_none() {
            let (outputs, artifacts) = (gave.outputs, gave.artifacts);
            self.turn.effects.push(Effect::Remember {
                place: place.clone(),
                outputs,
                artifacts,
            });
        }
        let bad = end.state == StepState::Failed && !tolerated;
        self.emit(Fact::StepEnded {
            place,
            state: end.state,
            standing: end.standing,
            why: cut(end.why),
            class: end.class,
            tolerated,
            cached: gave.cached,
            outputs: Object::new(),
            from: None,
        });
        if bad {
            self.stop(spot);
        }
        if spot.item.is_some() {
            self.settle(spot.step);
        }
    }

    /// Why what had begun was told to end.
    pub(super) fn halting_why(&self) -> String {
        if self.state.ending() || self.state.closing() && self.state.stopping.is_none() {
            self.ending_why()
        } else {
            self.failing_why()
        }
    }

    fn tolerates(&self, step: u32) -> bool {
        self.plan.step(StepIx(step)).on_error == OnError::Continue
    }

    /// Ends the attempt of a wait whose time has come.
    pub(super) fn wait_over(&mut self, attempt: &Attempt) {
        let Some((spot, live)) = self.live(attempt, Doing::Working) else {
            return;
        };
        let step = self.plan.step(spot.ix());
        let Some((at, exit)) = wait_end(&step.work, step.timeout, live.since) else {
            return;
        };
        if self.now < at {
            return;
        }
        let standing = None;
        let (outputs, artifacts) = (Object::new(), Vec::new());
        let ended = super::Ended {
            attempt: attempt.clone(),
            exit,
            outputs,
            artifacts,
            standing,
            class: None,
            seen: Vec::new(),
            usage: super::Usage::default(),
            service: false,
        };
        self.ended(ended);
    }

    /// Fails a place that has waited too long for its turn.
    pub(super) fn waited_too_long(&mut self, place: &Place) {
        let Some(spot) = self.spot(place) else { return };
        let untried = self.state.place(spot).is_some_and(|slot| slot.made() == 0);
        let waits = self.state.is_queued(spot);
        let waits = waits
            || spot.item.is_some() && !self.is_over(spot) && !self.state.live.contains_key(&spot);
        let late = self.queue_limit(spot).is_some_and(|at| at <= self.now);
        if untried && waits && late {
            let limit = self.plan.step(spot.ix()).queue_timeout.unwrap_or_default();
            let why = format!(
                "waited longer than {} for its turn",
                crate::time::format_duration(limit)
            );
            self.finish(
                spot,
                Final::bad(Standing::Unchecked, Some(Class::Environmental), why),
            );
        }
    }

    /// Ends a repeated step whose items have all ended.
    pub(super) fn settle(&mut self, step: u32) {
        let Some(many) = &self.state.slot(step).many else {
            return;
        };
        if many.open > 0 || self.state.slot(step).state.is_final() {
            return;
        }
        let count = |state| {
            many.slots
                .iter()
                .filter(|slot| slot.ended == Some(state))
                .count()
        };
        let (failed, cancelled) = (count(StepState::Failed), count(StepState::Cancelled));
        let skipped = count(StepState::Skipped);
        let total = many.slots.len();
        let state = match (failed, cancelled, skipped) {
            (0, 0, 0) => StepState::Succeeded,
            (0, 0, _) => StepState::Skipped,
            (0, _, _) => StepState::Cancelled,
            _ => StepState::Failed,
        };
        let first = many
            .slots
            .iter()
            .zip(&many.items)
            .find(|(slot, _)| slot.ended == Some(StepState::Failed));
        let class = first.and_then(|(slot, _)| slot.class);
        let why = match (state, first) {
            (StepState::Failed, Some((_, item))) => {
                format!("{failed} of {total} items failed, first `{}`", item.key)
            }
            (StepState::Cancelled, _) => self.halting_why(),
            (StepState::Skipped, _) if self.state.left.contains_key(&step) => {
                format!("{skipped} of {total} items were not chosen")
            }
            (StepState::Skipped, _) => self.unaffordable_why(),
            _ => String::new(),
        };
        // Items together are believed as far as the one that is believed least.
        let standings = many.slots.iter().map(|slot| slot.standing);
        let standing = standings.min_by_key(|standing| rank(*standing));
        let standing = standing.unwrap_or(Standing::Reported);
        let tolerated = state == StepState::Failed && self.tolerates(step);
        let outputs = self.gather(step);
        let place = Place::of(&self.plan.step(StepIx(step)).id);
        self.emit(Fact::StepEnded {
            place,
            state,
            standing,
            why,
            class,
            tolerated,
            cached: None,
            outputs,
            from: None,
        });
    }

    /// The outputs of a repeated step: for each name the values of its items, in order; null for
    /// an item that gave none.
    fn gather(&self, step: u32) -> Object {
        let Some(many) = &self.state.slot(step).many else {
            return Object::new();
        };
        let declared = self.plan.step(StepIx(step));
        let names: Vec<String> = match &declared.work {
            Work::Uses(uses) => uses
                .plan
                .parts()
                .outputs
                .iter()
                .map(|output| output.name.to_string())
                .collect(),
            _ => declared
                .outputs
                .iter()
                .map(|output| output.name.to_string())
                .collect(),
        };
        let value = |slot: &state::ItemSlot, name: &str| {
            let result = slot.result.as_ref();
            result
                .filter(|_| slot.ended == Some(StepState::Succeeded))
                .and_then(|gave| gave.outputs.get(name).cloned())
                .unwrap_or(Value::Null)
        };
        let list = |name: &String| {
            many.slots
                .iter()
                .map(|slot| value(slot, name))
                .collect::<Vec<_>>()
        };
        names
            .iter()
            .map(|name| (name.clone(), Value::Array(list(name))))
            .collect()
    }
}

/// How much a standing is believed, for comparison.
fn rank(standing: Standing) -> u8 {
    match standing {
        Standing::Refuted => 0,
        Standing::Unchecked => 1,
        Standing::Reported => 2,
        Standing::Verified => 3,
    }
}

/// Cuts a reason to the length that is kept.
pub(super) fn cut(why: String) -> String {
    match why.char_indices().nth(super::WHY_LIMIT) {
        Some((at, _)) => why.get(..at).unwrap_or_default().to_owned(),
        None => why,
    }
}
