//! How places and runs end, and what that does to others.

use std::sync::Arc;

use serde_json::Value;

use super::scope::View;
use super::state::{self, Doing, Spot};
use super::turn::Final;
use super::{
    Attempt, Effect, Exit, Fact, Machine, Outcome, Phase, Place, Standing, StepState, Timer,
};
use crate::digest::Digest;
use crate::model::{Class, Object, OnError, OnFailure, StepIx, Wait, Work};

impl Machine {
    /// Decides what follows a failed attempt: another one, or the end of the place.
    pub(super) fn failed(
        &mut self,
        spot: Spot,
        made: u32,
        class: Option<Class>,
        why: String,
        exit: &Exit,
    ) {
        if *exit == Exit::Cancelled || self.halting(spot) {
            return self.finish(spot, Final::cancelled(self.halting_why()));
        }
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
        let granted = class.is_some_and(|class| retry.on.contains(&class)) && made <= retry.max;
        if !repeat && !granted {
            return false;
        }
        let attempt = state::attempt(&plan, spot, made.saturating_add(1));
        let wait = if repeat {
            std::time::Duration::ZERO
        } else {
            retry.delay(made, self.seed(&attempt))
        };
        let due = self.now.after(wait);
        let why = why.to_owned();
        self.emit(Fact::RetryScheduled {
            attempt: attempt.clone(),
            due,
            why,
        });
        self.turn.effects.push(Effect::Wake {
            timer: Timer::Retry(attempt),
            at: due,
        });
        true
    }

    /// Runs the work after all, when checks did not confirm what the cache held.
    pub(super) fn start_over(&mut self, spot: Spot) {
        if let Some(slot) = self.state.place_mut(spot) {
            slot.result = None;
        }
        self.start(spot);
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
        let held = self.state.locked.contains(&spot) || self.state.locking.contains(&spot);
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
        });
        if bad {
            self.stop(spot);
        }
        if spot.item.is_some() {
            self.settle(spot.step);
        }
    }

    fn halting_why(&self) -> String {
        if self.state.ending() {
            self.ending_why()
        } else {
            self.stopping_why()
        }
    }

    fn tolerates(&self, step: u32) -> bool {
        self.plan.step(StepIx(step)).on_error == OnError::Continue
    }

    /// Lets the failure of a step stop or cancel the others, as the policy says.
    fn stop(&mut self, spot: Spot) {
        let policy = self.plan.parts().policy.on_failure;
        if policy == OnFailure::Continue
            || self.state.stopping.is_some()
            || self.plan.is_finally(spot.ix())
        {
            return;
        }
        let step = self.plan.step(spot.ix()).id.clone();
        self.emit(Fact::RunStopping { step });
        self.sweep();
    }

    /// Ends every main step that may not begin any more, and what runs if it must end.
    pub(super) fn sweep(&mut self) {
        let ending = self.state.ending();
        let forced = self.state.forced();
        if forced {
            self.sweep_finally();
        }
        let killing = ending || self.plan.parts().policy.on_failure == OnFailure::Cancel;
        for step in 0..u32::try_from(self.plan.parts().main).unwrap_or(u32::MAX) {
            let over = self.state.slot(step).state.is_final();
            if !over && (ending || !self.asks_status(step)) {
                self.sweep_step(step, killing);
            }
        }
        if killing {
            self.kill_live(forced);
        }
    }

    /// Ends the places of a step that nothing is being done for; with `resting`, also those
    /// that wait for their next attempt.
    fn sweep_step(&mut self, step: u32, resting: bool) {
        let places: Vec<Spot> = match &self.state.slot(step).many {
            None => vec![Spot { step, item: None }],
            Some(many) => (0..u32::try_from(many.slots.len()).unwrap_or(u32::MAX))
                .map(|item| Spot {
                    step,
                    item: Some(item),
                })
                .collect(),
        };
        let end = match self.state.ending() {
            true => Final::cancelled(self.ending_why()),
            false => Final::skipped(self.stopping_why()),
        };
        for spot in places {
            let rests = !resting && self.state.resting.contains_key(&spot);
            if !self.is_over(spot) && !self.state.live.contains_key(&spot) && !rests {
                self.finish(spot, end.clone());
            }
        }
    }

    /// Ends the `finally` steps that have not begun, when the end is forced.
    fn sweep_finally(&mut self) {
        if self.state.phase == Phase::Finally {
            let first = u32::try_from(self.plan.parts().main).unwrap_or(u32::MAX);
            for step in first..u32::try_from(self.state.steps.len()).unwrap_or(u32::MAX) {
                if !self.state.slot(step).state.is_final() {
                    self.sweep_step(step, true);
                }
            }
        }
    }

    fn kill_live(&mut self, force: bool) {
        if self.state.phase == Phase::Verify && self.state.judged.is_none() {
            self.turn.effects.push(Effect::Kill {
                attempt: None,
                force,
            });
        }
        let live: Vec<(Spot, u32, Doing)> = self
            .state
            .live
            .iter()
            .map(|(spot, live)| (*spot, live.attempt, live.doing))
            .collect();
        for (spot, number, doing) in live {
            if !self.halting(spot) {
                continue;
            }
            let attempt = state::attempt(&self.plan, spot, number);
            let timed = matches!(
                self.plan.step(spot.ix()).work,
                Work::Wait(Wait::For(_) | Wait::Until(_))
            );
            match doing {
                Doing::Looking => self.finish(spot, Final::cancelled(self.halting_why())),
                Doing::Working if timed => self.cancel_wait(spot, attempt),
                _ => self.turn.effects.push(Effect::Kill {
                    attempt: Some(attempt),
                    force,
                }),
            }
        }
    }

    fn cancel_wait(&mut self, spot: Spot, attempt: Attempt) {
        self.end_wait(attempt, Exit::Cancelled);
        self.finish(spot, Final::cancelled(self.halting_why()));
    }

    fn end_wait(&mut self, attempt: Attempt, how: Exit) {
        let class = how.class();
        let (outputs, artifacts) = (Object::new(), Vec::new());
        self.emit(Fact::AttemptEnded {
            attempt,
            how,
            class,
            outputs,
            artifacts,
        });
    }

    /// Ends the attempt of a wait whose time has come.
    pub(super) fn wait_over(&mut self, attempt: &Attempt) {
        let Some(spot) = self.spot(&attempt.place) else {
            return;
        };
        let Some(live) = self.state.live.get(&spot).cloned() else {
            return;
        };
        let timed = matches!(
            self.plan.step(spot.ix()).work,
            Work::Wait(Wait::For(_) | Wait::Until(_))
        );
        if !timed || live.attempt != attempt.attempt || live.doing != Doing::Working {
            return;
        }
        let cut_short = match self.plan.step(spot.ix()).work {
            Work::Wait(Wait::For(wait)) => self.now < live.since.after(wait),
            Work::Wait(Wait::Until(at)) => self.now < at,
            _ => false,
        };
        let exit = if cut_short {
            Exit::TimedOut
        } else {
            Exit::Done
        };
        let standing = None;
        let (outputs, artifacts) = (Object::new(), Vec::new());
        let ended = super::Ended {
            attempt: attempt.clone(),
            exit,
            outputs,
            artifacts,
            standing,
        };
        self.ended(ended);
    }

    /// Fails a place that has waited too long for its turn.
    pub(super) fn waited_too_long(&mut self, place: &Place) {
        let Some(spot) = self.spot(place) else { return };
        let untried = self
            .state
            .place(spot)
            .is_some_and(|slot| slot.attempts == 0);
        let waits = self.state.is_queued(spot);
        let waits = waits
            || spot.item.is_some() && !self.is_over(spot) && !self.state.live.contains_key(&spot);
        if untried && waits {
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
            (StepState::Cancelled, _) => self.ending_why(),
            (StepState::Skipped, _) => self.stopping_why(),
            _ => String::new(),
        };
        let standing = many
            .slots
            .iter()
            .map(|slot| slot.standing)
            .fold(None, weaker);
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
            slot.result
                .as_ref()
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

    /// Ends the run.
    pub(super) fn end_run(&mut self) {
        let (outputs, broken) = self.plan_outputs();
        let (outcome, why) = self.verdict(broken);
        let failed = self
            .state
            .failed
            .map(|step| self.plan.step(StepIx(step)).id.clone());
        let tally = self.state.tally;
        let checked = self.state.judged;
        let standing = match outcome {
            Outcome::Succeeded if checked == Some(true) => Standing::Verified,
            Outcome::Succeeded if tally.reported == 0 && tally.verified > 0 => Standing::Verified,
            Outcome::Succeeded => Standing::Reported,
            _ if checked == Some(false) => Standing::Refuted,
            _ => Standing::Unchecked,
        };
        let outputs = if outcome == Outcome::Succeeded {
            outputs
        } else {
            Object::new()
        };
        self.emit(Fact::RunEnded {
            outcome,
            why,
            failed,
            standing,
            tally,
            outputs: outputs.clone(),
        });
        self.turn.effects.push(Effect::Finish { outputs });
    }

    fn verdict(&self, broken: Option<String>) -> (Outcome, String) {
        let state = &self.state;
        if let Some(cancelled) = &state.cancelled {
            return (Outcome::Cancelled, cancelled.why.clone());
        }
        if state.timed_out {
            return (Outcome::Failed, self.ending_why());
        }
        if let Some(step) = state.failed {
            return (
                Outcome::Failed,
                format!("step `{}` failed", self.plan.step(StepIx(step)).id),
            );
        }
        if state.judged == Some(false) {
            return (
                Outcome::Failed,
                format!(
                    "the plan's criteria do not hold: {}",
                    state.refuted.join(", ")
                ),
            );
        }
        match broken {
            Some(why) => (Outcome::Failed, why),
            None => (Outcome::Succeeded, String::new()),
        }
    }

    /// The plan's outputs, and what is wrong with them.
    fn plan_outputs(&self) -> (Object, Option<String>) {
        let mut outputs = Object::new();
        let view = View {
            plan: &self.plan,
            state: &self.state,
            spot: None,
        };
        for output in &self.plan.parts().outputs {
            let value = match output.value.value(&view) {
                Ok(value) => value,
                Err(error) => return (outputs, Some(format!("output `{}`: {error}", output.name))),
            };
            if let Some(mistake) = output.schema.mistake(&value) {
                return (
                    outputs,
                    Some(format!("output `{}`: {mistake}", output.name)),
                );
            }
            outputs.insert(output.name.to_string(), value);
        }
        (outputs, None)
    }
}

/// The standing of two results together: that of the one believed less.
fn weaker(so_far: Option<Standing>, next: Standing) -> Option<Standing> {
    let rank = |standing| match standing {
        Standing::Refuted => 0,
        Standing::Unchecked => 1,
        Standing::Reported => 2,
        Standing::Verified => 3,
    };
    match so_far {
        Some(standing) if rank(standing) <= rank(next) => Some(standing),
        _ => Some(next),
    }
}

/// Cuts a reason to the length that is kept.
fn cut(why: String) -> String {
    match why.char_indices().nth(super::WHY_LIMIT) {
        Some((at, _)) => why.get(..at).unwrap_or_default().to_owned(),
        None => why,
    }
}
