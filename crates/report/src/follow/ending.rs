use super::{RunNotification, TaskEnding};
use crate::{
    ItemNames,
    locks::{lock_holder_text, permit_wait_text},
    threshold_text,
};
use wf_base::{name::Name, time::format_duration};
use wf_core::{
    machine::{EventKind, StepState},
    observe::{RunRef, TaskRemark},
};

/// The outcome of a step, by its event alone.
pub(super) fn task_ending(run: &RunRef, kind: &EventKind, names: &ItemNames) -> Option<TaskEnding> {
    let blank = |step: &Name, place: String| TaskEnding {
        step: step.clone(),
        run: RunRef { path: names.path(&run.path), ..run.clone() },
        task: place,
        state: StepState::Succeeded,
        standing: wf_core::machine::Standing::Reported,
        reason: String::new(),
        failure_class: None,
        allowed_to_fail: false,
        cached: false,
        duration: None,
        attempts: 0,
        failed_checks: Vec::new(),
        output_tail: Vec::new(),
        nested: false,
        server: None,
    };
    match kind {
        EventKind::StepEnded {
            task_id,
            state,
            standing,
            reason,
            failure_class,
            allowed_to_fail,
            cache_key: cached,
            ..
        } => Some(TaskEnding {
            state: *state,
            standing: *standing,
            reason: reason.clone(),
            failure_class: *failure_class,
            allowed_to_fail: *allowed_to_fail,
            cached: cached.is_some(),
            ..blank(&task_id.step, names.place(&run.path, task_id))
        }),
        EventKind::StepReused { step, standing, reused_from: from, .. } => Some(TaskEnding {
            standing: *standing,
            reason: format!("reused from run {}", from.short()),
            ..blank(step, step.to_string())
        }),
        _ => None,
    }
}

/// A stale or dropped result.
pub(super) fn changed_result(run: &RunRef, kind: &EventKind, names: &ItemNames) -> Option<RunNotification> {
    let (verb, place, reason) = match kind {
        EventKind::EvidenceStale(stale) => (
            "stale",
            names.place(&run.path, &stale.task_id),
            format!("{} changed after it was checked", stale.path),
        ),
        EventKind::ResultDropped { step, item_key: key, reason, .. } => {
            let place = match key {
                Some(key) => format!("{step}[{key}]"),
                None => step.to_string(),
            };
            ("not reused", place, reason.clone())
        }
        _ => return None,
    };
    let text = format!("{} · {reason}", names.text(&run.path, place));
    Some(RunNotification::Noted { verb, text })
}

/// A remark about a task, by its name, that is not an event.
pub(super) fn remark_notification(subject: String, remark: &TaskRemark) -> RunNotification {
    match remark {
        TaskRemark::LockHeld(holder) => RunNotification::Awaits { subject, reason: lock_holder_text(holder) },
        TaskRemark::PermitAwaited(limit) => {
            RunNotification::Awaits { subject, reason: permit_wait_text(*limit) }
        }
        TaskRemark::NotStored(reason) => {
            RunNotification::Noted { verb: "not cached", text: format!("{subject} · {reason}") }
        }
    }
}

/// A notification about the run as a whole.
pub(super) fn run_notification(kind: &EventKind) -> Option<RunNotification> {
    let (verb, text) = match kind {
        EventKind::RunDraining { step } => ("stopping", format!("`{step}` failed, no new steps will start")),
        EventKind::CancelRequested { reason, force: true } => ("killing", format!("immediately: {reason}")),
        EventKind::CancelRequested { reason, force: false } => ("cancelling", reason.clone()),
        EventKind::MemoryApplied { intent, advice, changes } => {
            ("memory", crate::rounds::memory_advice_text(intent.as_ref(), advice, changes).join(" · "))
        }
        EventKind::RoundCompleted(round) => ("round", crate::rounds::round_text(round)),
        EventKind::PlannerRequested { .. }
        | EventKind::PlannerAccepted { .. }
        | EventKind::PlannerRejected(_) => ("planner", crate::rounds::planner_text(kind)),
        EventKind::RunTimedOut => ("timed out", "the run exceeded its time limit".to_owned()),
        EventKind::BudgetThresholdReached { spent, percent } => ("budget", threshold_text(*spent, *percent)),
        EventKind::BudgetExtended { limit_ms: limit } => {
            let limit = format_duration(std::time::Duration::from_millis(*limit));
            let text = format!("the run makes progress; its time limit is now {limit}");
            ("budget", text)
        }
        EventKind::BudgetExhausted { spent, hard } => {
            let then = if *hard { "running steps are cancelled" } else { "no new steps will start" };
            ("budget", format!("{then}: {spent}"))
        }
        _ => return None,
    };
    Some(RunNotification::Noted { verb, text })
}
