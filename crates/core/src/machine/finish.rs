//! The end of tasks and runs, and its effect on others.

use std::sync::Arc;

use serde_json::Value;

use super::advance::wait_end;
use super::end::TaskCompletion;
use super::in_flight::TaskRequest;
use super::state::{self, TaskIx};
use super::task_phase::ActivityKind;
use super::{Attempt, Effect, EventKind, Machine, Standing, StepState, TaskId, TimerKind, WorkExit};
use wf_base::digest::Sha256Digest;
use wf_model::{FailureClass, JsonObject, OnStepError, StepIx, StepWork};

impl Machine {
    /// Decides what follows a failed attempt: another one, or the end of the task.
    pub(super) fn on_failed_attempt(
        &mut self,
        spot: TaskIx,
        made: u32,
        exit: &WorkExit,
        failure_class: Option<FailureClass>,
    ) {
        // Work that was cancelled without a request has failed like any other.
        if self.is_halting(spot) {
            return self.finish(spot, TaskCompletion::cancelled(self.halting_reason()));
        }
        let reason = exit.to_string();
        if !self.schedule_retry(spot, made, failure_class, &reason) {
            self.finish(spot, TaskCompletion::failure(Standing::Unchecked, failure_class, reason));
        }
    }

    /// Decides what follows an attempt that failed verification.
    pub(super) fn on_refuted_attempt(
        &mut self,
        spot: TaskIx,
        made: u32,
        failure_class: Option<FailureClass>,
        reason: String,
    ) {
        if !self.schedule_retry(spot, made, failure_class, &reason) {
            self.finish(spot, TaskCompletion::failure(Standing::Refuted, failure_class, reason));
        }
    }

    /// Schedules a retry if the step's `retry` grants one.
    fn schedule_retry(
        &mut self,
        spot: TaskIx,
        made: u32,
        failure_class: Option<FailureClass>,
        reason: &str,
    ) -> bool {
        let plan = Arc::clone(&self.plan);
        let step = plan.step(spot.ix());
        let retry = &step.retry;
        let repeat = failure_class == Some(FailureClass::Interrupted) && step.idempotent;
        // Attempts of earlier rounds used another alternative, and rework for `inspect` and `test`
        // is counted separately.
        let before = (self.state.task_record(spot)).map_or(0, |slot| slot.base + slot.loops());
        let own = made.saturating_sub(before);
        let granted =
            failure_class.is_some_and(|failure_class| retry.on.contains(&failure_class)) && own <= retry.max;
        // There is no number for an attempt after the last.
        let Some(next) = made.checked_add(1).filter(|_| repeat || granted) else {
            return false;
        };
        if !self.affords(spot) {
            return false;
        }
        let attempt = state::attempt(&plan, spot, next);
        let wait = if repeat { std::time::Duration::ZERO } else { retry.delay(own, self.seed(&attempt)) };
        let due = self.now.after(wait);
        let reason = reason.to_owned();
        self.emit(EventKind::RetryScheduled { attempt: attempt.clone(), due, reason, looped: None });
        self.turn.effects.push(Effect::Wake { timer: TimerKind::Retry(attempt), at: due });
        true
    }

    fn seed(&self, attempt: &Attempt) -> u64 {
        let name = attempt.to_string();
        let digest = Sha256Digest::of_parts([self.state.run.as_str().as_bytes(), name.as_bytes()]);
        digest.bytes().iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte))
    }

    /// Ends a task, and with its last task a repeated step.
    pub(super) fn finish(&mut self, spot: TaskIx, end: TaskCompletion) {
        let allowed_to_fail = end.state == StepState::Failed && self.tolerates(spot.step);
        let slot = self.state.task_record(spot);
        let gave = slot.and_then(|slot| slot.result.as_deref().cloned());
        let held = self.flight.uses_lock(spot);
        let place = state::task_id(&self.plan, spot);
        let step = self.plan.step(spot.ix());
        if held && let Some(lock) = step.concurrency.clone() {
            self.turn.effects.push(Effect::Unlock { place: place.clone(), lock });
        }
        let good = end.state == StepState::Succeeded;
        let gave = gave.filter(|_| good).unwrap_or_default();
        if good && step.cache.is_some() && gave.cached.is_none() {
            let (outputs, artifacts) = (gave.outputs, gave.artifacts);
            self.turn.effects.push(Effect::Remember { place: place.clone(), outputs, artifacts });
        }
        let bad = end.state == StepState::Failed && !allowed_to_fail;
        self.emit(EventKind::StepEnded {
            place,
            state: end.state,
            standing: end.standing,
            reason: truncate_reason(end.reason),
            failure_class: end.failure_class,
            allowed_to_fail,
            cache_key: gave.cached,
            outputs: JsonObject::new(),
            reused_from: None,
        });
        if bad {
            self.stop(spot);
        }
        if spot.item.is_some() {
            self.end_repeated_step(spot.step);
        }
    }

    /// Returns the reason why running work was told to end.
    pub(super) fn halting_reason(&self) -> String {
        if self.state.is_ending() || self.state.is_closing() && self.state.stopping.is_none() {
            self.ending_reason()
        } else {
            self.failing_reason()
        }
    }

    fn tolerates(&self, step: u32) -> bool {
        self.plan.step(StepIx(step)).on_error == OnStepError::Continue
    }

    /// Ends the attempt of a wait that is over.
    pub(super) fn end_wait(&mut self, attempt: &Attempt) {
        let Some((spot, live)) = self.current_activity(attempt, ActivityKind::Working) else {
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
        let (outputs, artifacts) = (JsonObject::new(), Vec::new());
        let ended = super::AttemptEnd {
            attempt: attempt.clone(),
            exit,
            outputs,
            artifacts,
            standing,
            failure_class: None,
            seen: Vec::new(),
            usage: super::AttemptUsage::default(),
            service: false,
        };
        self.on_attempt_end(ended);
    }

    /// Fails a task that has waited too long for its turn.
    pub(super) fn on_queue_timeout(&mut self, place: &TaskId) {
        let Some(spot) = self.task_ix(place) else {
            return;
        };
        let untried = self.state.task_record(spot).is_some_and(|slot| slot.attempts_of_round() == 0);
        let waits = match self.flight.request(spot) {
            Some(TaskRequest::Turn { .. } | TaskRequest::Lock) => true,
            Some(TaskRequest::Timer) | None => {
                spot.item.is_some() && !self.is_over(spot) && self.state.activity(spot).is_none()
            }
            Some(_) => false,
        };
        let late = self.queue_limit(spot).is_some_and(|at| at <= self.now);
        if untried && waits && late {
            let limit = self.plan.step(spot.ix()).queue_timeout.unwrap_or_default();
            let reason = format!("waited longer than {} in the queue", wf_base::time::format_duration(limit));
            self.finish(
                spot,
                TaskCompletion::failure(Standing::Unchecked, Some(FailureClass::Environmental), reason),
            );
        }
    }

    /// Ends a repeated step whose items have all ended.
    pub(super) fn end_repeated_step(&mut self, step: u32) {
        let Some(many) = &self.state.step_record(step).many else {
            return;
        };
        if many.open > 0 || self.state.step_record(step).state.is_final() {
            return;
        }
        let count = |state| many.slots.iter().filter(|slot| slot.ended() == Some(state)).count();
        let (failed, cancelled) = (count(StepState::Failed), count(StepState::Cancelled));
        let skipped = count(StepState::Skipped);
        let total = many.slots.len();
        let state = match (failed, cancelled, skipped) {
            (0, 0, 0) => StepState::Succeeded,
            (0, 0, _) => StepState::Skipped,
            (0, _, _) => StepState::Cancelled,
            _ => StepState::Failed,
        };
        let first =
            many.slots.iter().zip(&many.items).find(|(slot, _)| slot.ended() == Some(StepState::Failed));
        let failure_class = first.and_then(|(slot, _)| slot.failure_class);
        let reason = match (state, first) {
            (StepState::Failed, Some((_, item))) => {
                format!("{failed} of {total} items failed, first `{}`", item.key)
            }
            (StepState::Cancelled, _) => self.halting_reason(),
            (StepState::Skipped, _) if self.state.left.contains_key(&step) => {
                format!("{skipped} of {total} items were not selected")
            }
            (StepState::Skipped, _) => self.unaffordable_reason(),
            _ => String::new(),
        };
        // A list of items has the lowest verification status among them.
        let standings = many.slots.iter().map(|slot| slot.standing);
        let standing = standings.min_by_key(|standing| rank(*standing));
        let standing = standing.unwrap_or(Standing::Reported);
        let allowed_to_fail = state == StepState::Failed && self.tolerates(step);
        let outputs = self.gather(step);
        let place = TaskId::of_step(&self.plan.step(StepIx(step)).id);
        self.emit(EventKind::StepEnded {
            place,
            state,
            standing,
            reason,
            failure_class,
            allowed_to_fail,
            cache_key: None,
            outputs,
            reused_from: None,
        });
    }

    /// Returns the outputs of a repeated step: for each name the values of its items, in order;
    /// null for an item that gave none.
    fn gather(&self, step: u32) -> JsonObject {
        let Some(many) = &self.state.step_record(step).many else {
            return JsonObject::new();
        };
        let declared = self.plan.step(StepIx(step));
        let names: Vec<String> = match &declared.work {
            StepWork::Uses(uses) => {
                uses.plan.parts().outputs.iter().map(|output| output.name.to_string()).collect()
            }
            _ => declared.outputs.iter().map(|output| output.name.to_string()).collect(),
        };
        let value = |slot: &state::TaskRecord, name: &str| {
            let result = slot.result.as_ref();
            result
                .filter(|_| slot.ended() == Some(StepState::Succeeded))
                .and_then(|gave| gave.outputs.get(name).cloned())
                .unwrap_or(Value::Null)
        };
        let list = |name: &String| many.slots.iter().map(|slot| value(slot, name)).collect::<Vec<_>>();
        names.iter().map(|name| (name.clone(), Value::Array(list(name)))).collect()
    }
}

/// Returns the rank of a verification status, for comparison.
fn rank(standing: Standing) -> u8 {
    match standing {
        Standing::Refuted => 0,
        Standing::Unchecked => 1,
        Standing::Reported => 2,
        Standing::Verified => 3,
    }
}

/// Truncates a reason to the stored length.
pub(super) fn truncate_reason(reason: String) -> String {
    match reason.char_indices().nth(super::REASON_LIMIT) {
        Some((at, _)) => reason.get(..at).unwrap_or_default().to_owned(),
        None => reason,
    }
}
