//! The end of attempts and tasks: another attempt, or what the end means for others.

use serde_json::Value;

use crate::machine::{
    state::{
        self, Run, TaskIx, budget_limits,
        fold::task_end::TaskCompletion,
        follow_up::FollowUp,
        parts::task_record::TaskRecord,
        plan_rules::{bad_outputs, has_gates},
        task_phase::ActivityKind,
    },
    tasks::retry,
    words::{
        AttemptEnd, Effect, EventKind, GatePoint, MergeRequest, Standing, StepState, TaskId, WorkExit,
        reason::truncate_reason,
    },
};
use wf_base::{name::Name, units::elapsed};
use wf_model::{EngineFailure, FailureClass, JsonObject, StepIx, ValueSchema};

/// Applies the end of an attempt's work. Outputs that are not as declared make it a failure.
pub(in crate::machine) fn on_attempt_end(run: &mut Run, mut ended: AttemptEnd) {
    let Some((task, _)) = run.current_activity(&ended.attempt, ActivityKind::Working) else {
        return;
    };
    let Some(exit) = run.work_exit(task, ended.exit) else {
        return;
    };
    ended.exit = exit;
    if run.has_open_children(task) {
        return run.then(FollowUp::HoldForChildren { task, end: Box::new(ended) });
    }
    if ended.exit.is_success()
        && let Some(reason) = bad_outputs(run.plan().step(task.ix()), &ended.outputs)
    {
        ended.exit = WorkExit::Error { reason, failure_class: FailureClass::Logical };
        ended.failure_class = None;
    }
    ended.failure_class = failure_class_of(&ended.exit, ended.failure_class);
    if !ended.exit.is_success() {
        return on_failed_attempt(run, task, ended);
    }
    let gates = has_gates(run.plan(), Some(task), GatePoint::Leave);
    let (attempt, standing) = (ended.attempt.clone(), ended.standing);
    let seen = std::mem::take(&mut ended.seen);
    ended.standing = standing.filter(|_| gates);
    run.emit(ended.into());
    run.record_evidence(&attempt, seen);
    if !gates {
        run.then(FollowUp::ConfirmWork { task, attempt, standing });
    } else if let Some(end) = run.end_at_gates(task, GatePoint::Leave) {
        finish(run, task, end);
    } else {
        let (task, point) = (Some(task), GatePoint::Leave);
        run.then(FollowUp::AskGates { task, point, exchange: None });
    }
}

/// Records an attempt that failed, without what it left, and decides what follows: another one, or
/// the end of the task.
fn on_failed_attempt(run: &mut Run, task: TaskIx, ended: AttemptEnd) {
    let AttemptEnd { attempt, exit, failure_class, findings, usage, left, log, breakers, .. } = ended;
    let asked = ended.retry_after;
    let limit = run.plan().step(task.ix()).timeout.filter(|_| exit == WorkExit::TimedOut);
    let after = limit.map(|limit| format!(" after {}", elapsed(limit))).unwrap_or_default();
    let (made, reason) = (attempt.attempt, format!("{exit}{after}"));
    let is_cancelled = exit == WorkExit::Cancelled;
    let is_denied = matches!(exit, WorkExit::Denied { .. });
    let end = AttemptEnd { failure_class, findings, ..AttemptEnd::new(attempt, exit) };
    run.emit(AttemptEnd { usage, left, log, breakers, ..end }.into());
    // Work that was cancelled without a request has failed, and shows nothing of itself.
    if run.is_halting(task) {
        return finish(run, task, TaskCompletion::cancelled(run.halting_reason()));
    }
    if is_denied {
        let failure = TaskCompletion::failure(Standing::Unchecked, failure_class, reason);
        return retry::fail_or_ask(run, task, made, failure);
    }
    let failure_class = failure_class.or(is_cancelled.then(|| EngineFailure::Cancelled.class()));
    let failure = TaskCompletion::failure(Standing::Unchecked, failure_class, reason);
    retry::retry_or_fail(run, task, made, asked, failure);
}

/// Ends a task, and with its last task a repeated step.
/// One that worked in a worktree ends well once its changes are merged.
pub(in crate::machine) fn finish(run: &mut Run, task: TaskIx, completion: TaskCompletion) {
    if completion.state == StepState::Succeeded && run.must_merge(task) {
        return request_merge(run, task, completion.standing);
    }
    let allowed_to_fail = completion.state == StepState::Failed && run.tolerates(task.step);
    let record = run.state().task_record(task);
    let result = record.and_then(|record| record.result().cloned());
    let has_lock = run.flight.uses_lock(task);
    let task_id = state::task_id(run.plan(), task);
    let is_cached = run.plan().step(task.ix()).cache.is_some();
    if has_lock {
        run.push_effect(Effect::Unlock { task_id: task_id.clone() });
    }
    let good = completion.state == StepState::Succeeded;
    let result = result.filter(|_| good).unwrap_or_default();
    // What may have been made of other files than the key names is not reused.
    if good && is_cached && result.cached.is_none() && result.swapped_file.is_none() {
        let (outputs, artifacts) = (result.outputs, result.artifacts);
        run.push_effect(Effect::Remember { task_id: task_id.clone(), outputs, artifacts });
    }
    let bad = completion.state == StepState::Failed && !allowed_to_fail;
    run.emit(EventKind::StepEnded {
        task_id,
        state: completion.state,
        standing: completion.standing,
        reason: truncate_reason(completion.reason),
        failure_class: completion.failure_class,
        allowed_to_fail,
        cache_key: result.cached,
        outputs: JsonObject::new(),
        reused_from: None,
    });
    if bad {
        run.then(FollowUp::StopOthers(task));
        if task.item.is_some() {
            run.then(FollowUp::EndRepeatedStep(task.step));
        }
    } else if task.item.is_some() {
        end_repeated_step(run, task.step);
    }
}

/// Queues the merge of a task's attempt.
fn request_merge(run: &mut Run, task: TaskIx, standing: Standing) {
    if let Some(live) = run.state().activity(task) {
        let attempt = state::attempt(run.plan(), task, live.attempt);
        run.emit(EventKind::MergeRequested(MergeRequest { attempt, standing }));
    }
}

/// Ends a repeated step whose items have all ended.
pub(in crate::machine) fn end_repeated_step(run: &mut Run, step: u32) {
    let Some(many) = run.state().step_record(step).items() else {
        return;
    };
    if many.open > 0 || run.state().step_record(step).is_over() {
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
    let first =
        many.records.iter().zip(&many.items).find(|(record, _)| record.ended() == Some(StepState::Failed));
    let failure_class = first.and_then(|(record, _)| record.failure_class());
    let reason = match (state, first) {
        (StepState::Failed, Some((_, item))) => {
            format!("{failed} of {total} items failed, first `{}`", item.key)
        }
        (StepState::Cancelled, _) => run.halting_reason(),
        (StepState::Skipped, _) if run.state().chosen_items(step).is_some() => {
            format!("{skipped} of {total} items were not selected")
        }
        (StepState::Skipped, _) => budget_limits::unaffordable_reason(run),
        _ => String::new(),
    };
    // A list of items has the lowest verification status among them.
    let standings = many.records.iter().map(TaskRecord::standing);
    let standing = standings.min_by_key(|standing| rank(*standing));
    let standing = standing.unwrap_or(Standing::Reported);
    let allowed_to_fail = state == StepState::Failed && run.tolerates(step);
    let outputs = gather(run, step);
    let task_id = TaskId::of_step(&run.plan().step(StepIx(step)).id);
    run.emit(EventKind::StepEnded {
        task_id,
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
fn gather(run: &Run, step: u32) -> JsonObject {
    let Some(many) = run.state().step_record(step).items() else {
        return JsonObject::new();
    };
    let declared = run.plan().step(StepIx(step));
    let value = |record: &TaskRecord, name: &Name, schema: &ValueSchema| {
        record
            .result()
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
