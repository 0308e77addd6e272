//! The end of attempts and tasks: another attempt, or what the end means for others.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::machine::state::fold::task_end::TaskCompletion;
use crate::machine::state::machine_state::TaskRecord;
use crate::machine::state::plan_rules::{bad_outputs, has_gates};
use crate::machine::state::task_phase::ActivityKind;
use crate::machine::state::{self, Run, TaskIx};
use crate::machine::words::reason::truncate_reason;
use crate::machine::words::{
    Attempt, AttemptEnd, Effect, EventKind, GatePoint, ReworkLoop, Standing, StepState, TaskId, TimerKind,
    WorkExit,
};
use wf_base::digest::Sha256Digest;
use wf_base::name::Name;
use wf_base::time::{Moment, format_duration};
use wf_base::units::elapsed;
use wf_model::{EngineFailure, FailureClass, JsonObject, StepIx, ValueSchema};

impl Run {
    /// Applies the end of an attempt's work. Outputs that are not as declared make it a failure.
    pub(in crate::machine) fn on_attempt_end(&mut self, mut ended: AttemptEnd) {
        let Some((task, _)) = self.current_activity(&ended.attempt, ActivityKind::Working) else {
            return;
        };
        let Some(exit) = self.work_exit(task, ended.exit) else {
            return;
        };
        ended.exit = exit;
        if self.hold_for_children(task, &ended) {
            return;
        }
        if ended.exit.is_success()
            && let Some(reason) = bad_outputs(self.plan.step(task.ix()), &ended.outputs)
        {
            ended.exit = WorkExit::Error { reason, failure_class: FailureClass::Logical };
            ended.failure_class = None;
        }
        ended.failure_class = failure_class_of(&ended.exit, ended.failure_class);
        if !ended.exit.is_success() {
            return self.on_failed_attempt(task, ended);
        }
        let gates = has_gates(&self.plan, Some(task), GatePoint::Leave);
        let (attempt, standing) = (ended.attempt.clone(), ended.standing);
        let seen = std::mem::take(&mut ended.seen);
        ended.standing = standing.filter(|_| gates);
        self.emit(ended.into());
        self.record_evidence(&attempt, seen);
        if !gates {
            self.confirm_work(task, attempt, standing);
        } else if !self.end_before_gates(task, GatePoint::Leave) {
            self.ask_gates(Some(task), GatePoint::Leave);
        }
    }

    /// Records the end of an attempt without outputs.
    pub(in crate::machine) fn end_attempt(&mut self, attempt: Attempt, how: WorkExit) {
        let failure_class = how.failure_class();
        self.emit(AttemptEnd { failure_class, ..AttemptEnd::new(attempt, how) }.into());
    }

    /// Records an attempt that failed, without what it left, and decides what follows: another one, or
    /// the end of the task.
    pub(in crate::machine) fn on_failed_attempt(&mut self, task: TaskIx, ended: AttemptEnd) {
        let AttemptEnd { attempt, exit, failure_class, findings, usage, left, log, breakers, .. } = ended;
        let asked = ended.retry_after;
        let limit = self.plan.step(task.ix()).timeout.filter(|_| exit == WorkExit::TimedOut);
        let after = limit.map(|limit| format!(" after {}", elapsed(limit))).unwrap_or_default();
        let (made, reason) = (attempt.attempt, format!("{exit}{after}"));
        let is_cancelled = exit == WorkExit::Cancelled;
        let is_denied = matches!(exit, WorkExit::Denied { .. });
        let end = AttemptEnd { failure_class, findings, ..AttemptEnd::new(attempt, exit) };
        self.emit(AttemptEnd { usage, left, log, breakers, ..end }.into());
        // Work that was cancelled without a request has failed, and shows nothing of itself.
        if self.is_halting(task) {
            return self.finish(task, TaskCompletion::cancelled(self.halting_reason()));
        }
        if is_denied {
            let failure = TaskCompletion::failure(Standing::Unchecked, failure_class, reason);
            return self.fail_or_ask(task, made, failure);
        }
        let failure_class = failure_class.or(is_cancelled.then(|| EngineFailure::Cancelled.class()));
        let failure = TaskCompletion::failure(Standing::Unchecked, failure_class, reason);
        self.retry_or_fail(task, made, asked, failure);
    }

    /// Decides what follows an attempt that failed verification.
    pub(in crate::machine) fn on_refuted_attempt(
        &mut self,
        task: TaskIx,
        made: u32,
        failure_class: Option<FailureClass>,
        reason: String,
    ) {
        let failure = TaskCompletion::failure(Standing::Refuted, failure_class, reason);
        self.retry_or_fail(task, made, None, failure);
    }

    /// Schedules a retry, or ends the task with that failure if people are not asked first. `asked` is the wait that a
    /// server asked for.
    pub(in crate::machine) fn retry_or_fail(
        &mut self,
        task: TaskIx,
        made: u32,
        asked: Option<Duration>,
        failure: TaskCompletion,
    ) {
        if !self.schedule_retry(task, made, asked, &failure) {
            self.fail_or_ask(task, made, failure);
        }
    }

    /// Schedules a retry if the step's `retry` grants one, or guidance of a planner does; asks the planner first if
    /// the step consults it now.
    fn schedule_retry(
        &mut self,
        task: TaskIx,
        made: u32,
        asked: Option<Duration>,
        failure: &TaskCompletion,
    ) -> bool {
        let TaskCompletion { failure_class, reason, .. } = failure;
        let (failure_class, mut reason) = (*failure_class, reason.clone());
        let plan = Arc::clone(&self.plan);
        let step = plan.step(task.ix());
        let retry = &step.retry;
        let repeat = failure_class == Some(FailureClass::Interrupted) && step.idempotent;
        // Attempts of earlier rounds used another alternative, and rework for `inspect` and `test`
        // is counted separately.
        let before = (self.state.task_record(task)).map_or(0, |record| record.base + record.loops());
        let own = made.saturating_sub(before);
        let retried = failure_class.is_some_and(|failure_class| retry.covers(failure_class));
        if retried && self.ask_for_guidance(task, made, failure_class, &reason) {
            return true;
        }
        let record = self.state.task_record(task);
        let guided = record.is_some_and(|record| record.has_guidance_after(made));
        let granted = retried && (own <= retry.max || guided);
        // There is no number for an attempt after the last.
        let Some(next) = made.checked_add(1).filter(|_| repeat || granted) else {
            return false;
        };
        if !self.affords(task) {
            return false;
        }
        let attempt = state::attempt(&plan, task, next);
        let wait = if repeat { Duration::ZERO } else { retry.delay(own, self.seed(&attempt)) };
        let asked = asked.unwrap_or_default();
        if asked > retry.max_delay {
            let limit = format_duration(retry.max_delay);
            reason += &format!("; waiting for {limit} only, the `max_delay` of `retry`");
        }
        let due = self.now.after(wait.max(asked.min(retry.max_delay)));
        self.schedule_attempt(attempt, due, reason, None);
        true
    }

    /// Schedules the next attempt of a task.
    pub(in crate::machine) fn schedule_attempt(
        &mut self,
        attempt: Attempt,
        due: Moment,
        reason: String,
        looped: Option<ReworkLoop>,
    ) {
        if let Some(task) = self.task_ix(&attempt.place) {
            // It asks for its locks in its turn.
            self.withdraw_return(task);
        }
        self.emit(EventKind::RetryScheduled { attempt: attempt.clone(), due, reason, looped });
        self.set_timer(TimerKind::Retry(attempt), due);
    }

    fn seed(&self, attempt: &Attempt) -> u64 {
        let name = attempt.to_string();
        let digest = Sha256Digest::of_parts([self.state.run.as_str().as_bytes(), name.as_bytes()]);
        digest.bytes().iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte))
    }

    /// Ends a task, and with its last task a repeated step.
    /// One that worked in a worktree ends well once its changes are merged.
    pub(in crate::machine) fn finish(&mut self, task: TaskIx, end: TaskCompletion) {
        if end.state == StepState::Succeeded && self.must_merge(task) {
            return self.request_merge(task, end.standing);
        }
        let allowed_to_fail = end.state == StepState::Failed && self.tolerates(task.step);
        let record = self.state.task_record(task);
        let result = record.and_then(|record| record.result.as_deref().cloned());
        let has_lock = self.flight.uses_lock(task);
        let place = state::task_id(&self.plan, task);
        let step = self.plan.step(task.ix());
        if has_lock {
            self.turn.effects.push(Effect::Unlock { place: place.clone() });
        }
        let good = end.state == StepState::Succeeded;
        let result = result.filter(|_| good).unwrap_or_default();
        // What may have been made of other files than the key names is not reused.
        if good && step.cache.is_some() && result.cached.is_none() && result.swapped_file.is_none() {
            let (outputs, artifacts) = (result.outputs, result.artifacts);
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
            cache_key: result.cached,
            outputs: JsonObject::new(),
            reused_from: None,
        });
        if bad {
            self.stop(task);
        }
        if task.item.is_some() {
            self.end_repeated_step(task.step);
        }
    }

    /// Ends a repeated step whose items have all ended.
    pub(in crate::machine) fn end_repeated_step(&mut self, step: u32) {
        let Some(many) = &self.state.step_record(step).many else {
            return;
        };
        if many.open > 0 || self.state.step_record(step).state.is_final() {
            return;
        }
        let count = |state| many.records.iter().filter(|record| record.ended() == Some(state)).count();
        let (failed, cancelled) = (count(StepState::Failed), count(StepState::Cancelled));
        let skipped = count(StepState::Skipped);
        let total = many.records.len();
        let state = match (failed, cancelled, skipped) {
            (0, 0, 0) => StepState::Succeeded,
            (0, 0, _) => StepState::Skipped,
            (0, _, _) => StepState::Cancelled,
            _ => StepState::Failed,
        };
        let first = many
            .records
            .iter()
            .zip(&many.items)
            .find(|(record, _)| record.ended() == Some(StepState::Failed));
        let failure_class = first.and_then(|(record, _)| record.failure_class);
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
        let standings = many.records.iter().map(|record| record.standing);
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
    /// its default, or null, for an item that gave none.
    fn gather(&self, step: u32) -> JsonObject {
        let Some(many) = &self.state.step_record(step).many else {
            return JsonObject::new();
        };
        let declared = self.plan.step(StepIx(step));
        let value = |record: &TaskRecord, name: &Name, schema: &ValueSchema| {
            let result = record.result.as_ref();
            result
                .filter(|_| record.ended() == Some(StepState::Succeeded))
                .and_then(|result| result.outputs.get(name.as_str()))
                .or(schema.default_value())
                .cloned()
                .unwrap_or(Value::Null)
        };
        let outputs = declared.output_schemas().into_iter().map(|(name, schema)| {
            let list = many.records.iter().map(|record| value(record, name, schema));
            (name.to_string(), Value::Array(list.collect()))
        });
        outputs.collect()
    }
}

/// Returns the failure class. The work's output may override that of its exit, unless the end is
/// unknown or was requested.
fn failure_class_of(exit: &WorkExit, reported: Option<FailureClass>) -> Option<FailureClass> {
    match exit {
        WorkExit::Interrupted | WorkExit::Cancelled => exit.failure_class(),
        _ if exit.is_success() => None,
        _ => reported.or_else(|| exit.failure_class()),
    }
}

/// Returns the rank of a verification status, for comparison.
fn rank(standing: Standing) -> u8 {
    match standing {
        Standing::Refuted => 0,
        Standing::Unchecked => 1,
        Standing::Reported => 2,
        Standing::Plausible => 3,
        Standing::Verified => 4,
    }
}
