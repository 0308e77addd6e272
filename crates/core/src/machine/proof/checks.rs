//! The checks of a result, phase after phase, and the rework that they cause (Sylk W22, W23, W25).
//!
//! After the work of an attempt has ended well, `inspect` is checked; once all of it passes,
//! `test`, then `verify`. A failure of `inspect` or `test` sends the work back, as often as `loops`
//! says; a failure of `verify` is for `retry`. An approver asked when no loop is left may let a
//! phase be ignored: for the current attempt, and at the price that its result is not verified.

use crate::machine::{
    state::{
        self, Run, TaskIx,
        fold::task_end::TaskCompletion,
        follow_up::FollowUp,
        parts::task_record::TaskRecord,
        plan_rules::{of_phase, standing_of},
        requests,
        scope::{self, TaskScope},
        task_phase::ActivityKind,
    },
    words::{
        ApprovalRequest, Artifact, Attempt, CheckVerdict, Effect, EventKind, FailedCheck, ReworkLoop,
        RunPhase, Standing, StepItem, TaskId,
    },
};
use wf_model::{ApprovalRequirement, CheckPhase, FailureClass, JsonObject, OnReworkExhausted};

/// Returns the item of a task and the values read by its checks, to check a replayed run again. Without a task: the values
/// read by the plan's own checks. `None` if a value is missing, or there is no such task.
pub(in crate::machine) fn read_by_checks(
    run: &Run,
    task_id: Option<&TaskId>,
) -> Option<(Option<StepItem>, JsonObject)> {
    let task = match task_id {
        Some(task_id) => Some(run.task_ix(task_id)?),
        None => None,
    };
    let view = TaskScope { plan: run.plan(), state: run.state(), task };
    let checks = match task {
        Some(task) => &run.plan().step(task.ix()).verify,
        None => &run.plan().parts().verify,
    };
    let reads = scope::check_reads(&view, checks).ok()?;
    let item = task.and_then(|task| run.state().item(task).cloned());
    Some((item, reads))
}

/// Requests the checks of an attempt whose turn it is.
fn ask_checks(run: &mut Run, task: TaskIx, attempt: Attempt) {
    // After a resume they are requested once its lock is held again.
    if run.flight.is_returning(task) {
        return;
    }
    let plan = std::sync::Arc::clone(run.plan());
    let checks = &plan.step(task.ix()).verify;
    let Some(phase) = run.phase_of(task) else {
        return complete_verified(run, task);
    };
    let view = TaskScope { plan: &plan, state: run.state(), task: Some(task) };
    match scope::check_reads(&view, of_phase(checks, phase)) {
        Ok(reads) => {
            let item_value = run.state().item(task).cloned();
            run.push_effect(Effect::Check { attempt: Some(attempt), phase, item_value, reads });
        }
        Err(error) => {
            let class = Some(FailureClass::Logical);
            let end = TaskCompletion::failure(Standing::Reported, class, error.to_string());
            run.then(FollowUp::EndTask { task, completion: end });
        }
    }
}

/// Applies the rulings of a phase of checks on an attempt.
pub(in crate::machine) fn on_verdicts(
    run: &mut Run,
    attempt: &Attempt,
    phase: CheckPhase,
    verdicts: Vec<CheckVerdict>,
    seen: Vec<Artifact>,
) {
    let Some((task, _)) = run.current_activity(attempt, ActivityKind::Checking) else {
        return;
    };
    if run.phase_of(task) != Some(phase) {
        return;
    }
    let refuted = verdicts.iter().find(|verdict| !verdict.passed());
    let refuted = refuted.map(|verdict| (FailedCheck::from(verdict).describe(), verdict.failure_class));
    run.record_evidence(attempt, seen);
    record_verdicts(run, Some(attempt), phase, verdicts);
    match refuted {
        None => after_phase(run, task, attempt, phase),
        Some((reason, _)) if run.is_halting(task) => {
            let end = TaskCompletion { standing: Standing::Reported, ..TaskCompletion::cancelled(reason) };
            run.then(FollowUp::EndTask { task, completion: end });
        }
        Some(_) if attempt.attempt == 0 && run.is_barred(task) => {
            let end = TaskCompletion::skipped(run.stopping_reason());
            run.then(FollowUp::EndTask { task, completion: end });
        }
        // The checks did not confirm the cached result: the work runs after all.
        Some(_) if attempt.attempt == 0 => run.then(FollowUp::StartAttempt(task)),
        Some((reason, failure_class)) if phase == CheckPhase::Verify => {
            let (made, asked) = (attempt.attempt, None);
            let failure = TaskCompletion::failure(Standing::Refuted, failure_class, reason);
            run.then(FollowUp::RetryOrFail { task, made, asked, completion: failure });
        }
        Some((reason, failure_class)) => rework(run, task, attempt.attempt, phase, failure_class, reason),
    }
}

fn record_verdicts(run: &mut Run, of: Option<&Attempt>, phase: CheckPhase, verdicts: Vec<CheckVerdict>) {
    for verdict in verdicts {
        let attempt = of.cloned();
        let verdict = CheckVerdict { phase, ..verdict };
        run.emit(EventKind::CheckCompleted { attempt, verdict });
    }
}

/// Continues after a phase of an attempt: with the next one, or with the end of the task.
fn after_phase(run: &mut Run, task: TaskIx, attempt: &Attempt, phase: CheckPhase) {
    let checks = &run.plan().step(task.ix()).verify;
    if CheckPhase::next_phase(Some(phase), checks).is_none() {
        return complete_verified(run, task);
    }
    let attempt = attempt.clone();
    run.emit(EventKind::ChecksPassed { attempt: Some(attempt.clone()), phase });
    if run.is_halting(task) {
        // The other checks will not run: the success stays unverified.
        let end = TaskCompletion::success(Standing::Reported);
        return run.then(FollowUp::EndTask { task, completion: end });
    }
    ask_checks(run, task, attempt);
}

/// Ends a task after its passed checks, except those ignored by an approver.
fn complete_verified(run: &mut Run, task: TaskIx) {
    let record = run.state().task_record(task);
    let shows_little = record.is_some_and(TaskRecord::shows_little);
    // A judge inside a nested run is not outvoted by a check around it.
    let result = record.and_then(TaskRecord::result);
    let nested = result.and_then(|result| result.standing);
    if let Some(file) = result.and_then(|result| result.swapped_file.as_ref()) {
        let reason = swapped_file_text(file);
        let end = TaskCompletion { reason, ..TaskCompletion::success(Standing::Reported) };
        return run.then(FollowUp::EndTask { task, completion: end });
    }
    let standing = match standing_of(&run.plan().step(task.ix()).verify) {
        _ if shows_little => Standing::Reported,
        _ if nested == Some(Standing::Plausible) => Standing::Plausible,
        own => own,
    };
    run.then(FollowUp::EndTask { task, completion: TaskCompletion::success(standing) });
}

/// Sends the work back for rework, as long as the failed phase has loops.
pub(in crate::machine) fn rework(
    run: &mut Run,
    task: TaskIx,
    made: u32,
    phase: CheckPhase,
    failure_class: Option<FailureClass>,
    reason: String,
) {
    let loops = run.plan().step(task.ix()).loops;
    let used = (run.state().task_record(task)).map_or(0, |record| record.loops_of(phase));
    let has_next = made.checked_add(1).is_some();
    if has_next && used < loops.max {
        let looped = ReworkLoop { phase, number: used + 1, limit: loops.max };
        run.then(FollowUp::BeginRework { task, made, looped, failure_class, reason });
    } else if loops.on_exhausted == OnReworkExhausted::Ask {
        ask_to_ignore(run, task, phase, used);
    } else {
        let failure = TaskCompletion::failure(Standing::Refuted, failure_class, reason);
        run.then(FollowUp::FailOrAsk { task, made, completion: failure });
    }
}

/// Asks the approvers whether to go on although a phase failed.
fn ask_to_ignore(run: &mut Run, task: TaskIx, phase: CheckPhase, used: u32) {
    let record = run.state().task_record(task);
    let failed = record.and_then(TaskRecord::history);
    let failed = failed.map_or(&[][..], |tries| &tries.failed);
    let lines = failed.iter().map(|unmet| (unmet.criterion.to_string(), unmet.describe().into()));
    let show: JsonObject = lines.collect();
    let first = failed.first().map(FailedCheck::describe);
    let message = format!(
        "ignore `{}`? It failed, and all its reworks are used ({used}): {}",
        phase.as_str(),
        first.unwrap_or_default()
    );
    let mut ask = requests::draft(run, Some(task), message, &ApprovalRequirement::default());
    if task.item.is_none() {
        // The approval is for the files that were checked.
        ask.covers_steps.push(run.plan().step(task.ix()).id.clone());
    }
    requests::open(run, ApprovalRequest { phase: Some(phase), show, ..ask });
}

/// Goes on with an attempt although a phase failed: an approver let it be ignored.
pub(in crate::machine) fn on_phase_ignored(run: &mut Run, task: TaskIx, phase: CheckPhase) {
    if let Some(live) = run.state().activity(task) {
        let attempt = state::attempt(run.plan(), task, live.attempt);
        after_phase(run, task, &attempt, phase);
    }
}

/// Ends a task with a failed phase, not ignored by any approver.
pub(in crate::machine) fn on_phase_not_ignored(run: &mut Run, task: TaskIx, phase: CheckPhase, no: &str) {
    let record = run.state().task_record(task);
    let tries = record.and_then(TaskRecord::history);
    let failure_class = tries.and_then(|tries| tries.failure_class);
    let found = tries.and_then(|tries| tries.failed.first()).map(FailedCheck::describe);
    let found = found.unwrap_or_else(|| format!("`{}` failed", phase.as_str()));
    let reason = format!("{found}; {no}");
    let end = TaskCompletion::failure(Standing::Refuted, failure_class, reason);
    run.then(FollowUp::EndTask { task, completion: end });
}

/// Applies the rulings of a phase of the plan's own checks.
pub(in crate::machine) fn on_plan_verdicts(run: &mut Run, phase: CheckPhase, verdicts: Vec<CheckVerdict>) {
    let is_expected = run.state().phase() == RunPhase::Verify && run.state().proof.judged().is_none();
    if !is_expected || phase != run.own_phase() {
        return;
    }
    record_verdicts(run, None, phase, verdicts);
    let refuted = run.state().proof.is_refuted();
    let next = CheckPhase::next_phase(Some(phase), &run.plan().parts().verify);
    if refuted || next.is_none() || run.state().is_ending() {
        return run.then(FollowUp::JudgeRound);
    }
    let attempt = None;
    run.emit(EventKind::ChecksPassed { attempt, phase });
    check_plan(run);
}

/// Continues with an attempt whose work has passed its gates, or has none.
pub(in crate::machine) fn confirm_result(run: &mut Run, task: TaskIx) {
    let Some(live) = run.state().activity(task) else {
        return;
    };
    let attempt = state::attempt(run.plan(), task, live.attempt);
    let standing = run.state().task_record(task).and_then(|record| record.result()?.standing);
    confirm_work(run, task, attempt, standing);
}

/// Lets the checks of an attempt decide; without any, its reported verification status stands.
pub(in crate::machine) fn confirm_work(
    run: &mut Run,
    task: TaskIx,
    attempt: Attempt,
    standing: Option<Standing>,
) {
    if run.plan().step(task.ix()).verify.is_empty() {
        let cached = attempt.attempt == 0;
        let standing = standing.filter(|_| !cached).unwrap_or(Standing::Reported);
        run.then(FollowUp::EndTask { task, completion: TaskCompletion::success(standing) });
    } else if run.is_halting(task) {
        // Its own checks will not run: even the result of a nested run is unverified.
        run.then(FollowUp::EndTask { task, completion: TaskCompletion::success(Standing::Reported) });
    } else {
        ask_checks(run, task, attempt);
    }
}

/// Requests the plan's own checks.
pub(in crate::machine) fn check_plan(run: &mut Run) {
    let view = TaskScope { plan: run.plan(), state: run.state(), task: None };
    let phase = run.own_phase();
    let checks = of_phase(&run.plan().parts().verify, phase);
    let reads = scope::check_reads(&view, checks).unwrap_or_default();
    run.push_effect(Effect::Check { attempt: None, phase, item_value: None, reads });
}

/// Returns the reason why a result whose checks passed is only reported.
fn swapped_file_text(file: &str) -> String {
    format!(
        "`{file}` changed while this step could read it; with `allow` the step would read what was verified"
    )
}
