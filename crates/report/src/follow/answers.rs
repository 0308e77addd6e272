use super::RunNotification;
use crate::ItemNames;
use wf_base::untrusted::untrusted;
use wf_core::{
    gate::{GateAction, GateResult},
    machine::{ApprovalOutcome, EventKind, GuidanceOutcome, RequestDecision, TaskId},
    observe::RunRef,
};

/// The answers of gates and approvers; `None` if an event is not one of them, or there is nothing
/// to print.
pub(super) fn gate_or_approval_notification(
    run: &RunRef,
    kind: &EventKind,
    names: &ItemNames,
) -> Option<RunNotification> {
    let named = |task_id: Option<&TaskId>| request_subject(run, task_id, names);
    let (verb, text) = match kind {
        EventKind::GateEvaluated { task_id, result } => gate_notification(&named(task_id.as_ref()), result)?,
        EventKind::Escalated { task_id, gate, action, message, .. } => {
            let name = named(task_id.as_ref());
            let separator = if message.is_empty() { "" } else { ": " };
            let text = format!("{name} · gate `{gate}` · {}{separator}{message}", action.as_str());
            ("escalates", text)
        }
        EventKind::ApprovalRequested(ask) => {
            let name = named(ask.task_id.as_ref());
            ("asking", format!("{name} · {}", ask.message))
        }
        EventKind::ApprovalResolved { task_id, given, .. } => {
            approval_notification(&named(task_id.as_ref()), given)
        }
        other => {
            let (place, text) = guidance_text(other)?;
            ("planner", format!("{} · {text}", named(Some(place))))
        }
    };
    Some(RunNotification::Noted { verb, text })
}

/// The subject of a question: a task, with those above it, or the run.
fn request_subject(run: &RunRef, task_id: Option<&TaskId>, names: &ItemNames) -> String {
    match task_id {
        Some(place) => names.subject(&run.path, place),
        None if run.path.is_empty() => "the run".into(),
        None => names.path(&run.path).join("/"),
    }
}

/// The answer of a gate, unless it passes silently or asks for an approval, which is printed next.
fn gate_notification(name: &str, result: &GateResult) -> Option<(&'static str, String)> {
    let (id, reason) = (&result.gate, &result.reason);
    if result.action == GateAction::Block {
        return Some(("blocked", format!("{name} · gate `{id}`: {reason}")));
    }
    let rejected = result.rejected.iter().map(|key| format!("may not rewrite {key}"));
    let ignored = result.ignored.map(|action| format!("may not answer {}", action.as_str()));
    let flags: Vec<String> = (result.flags.iter().cloned()).chain(rejected).chain(ignored).collect();
    let text = format!("{name} · gate `{id}`: {}", flags.join(", "));
    (!flags.is_empty()).then_some(("flagged", text))
}

fn approval_notification(name: &str, outcome: &ApprovalOutcome) -> (&'static str, String) {
    let names: Vec<&str> = outcome.by.iter().map(|by| by.name.as_str()).collect();
    let by = if names.is_empty() { String::new() } else { format!(" · by {}", names.join(", ")) };
    let separator = if outcome.reason.is_empty() { "" } else { ": " };
    let verb = match outcome.decision {
        RequestDecision::Approved => "approved",
        RequestDecision::Answered => "answered",
        RequestDecision::Denied => "denied",
        RequestDecision::Expired => "expired",
        RequestDecision::Void => "void",
        RequestDecision::Withdrawn => "withdrawn",
    };
    let answer = outcome.answer.as_ref().map_or_else(String::new, |answer| format!(" · {answer}"));
    (verb, format!("{name}{by}{answer}{separator}{}", outcome.reason))
}

/// Returns the task a planner guides, and what became of that; `None` for all other facts.
pub(super) fn guidance_text(kind: &EventKind) -> Option<(&TaskId, String)> {
    match kind {
        EventKind::GuidanceRequested(start) => {
            let text = format!("asked for guidance after attempt {}", start.attempt.attempt);
            Some((&start.attempt.task_id, text))
        }
        EventKind::GuidanceEnded(end) => {
            let text = match &end.outcome {
                GuidanceOutcome::Given { guidance } => format!("guides: {}", untrusted(&one_line(guidance))),
                GuidanceOutcome::Refused { reason } => format!("no guidance: {}", untrusted(reason)),
            };
            Some((&end.attempt.task_id, text))
        }
        _ => None,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
