//! The pending approvals of a run, as shown to the approvers.

use std::fmt::Write as _;

use super::{decision::value_text, lines::quote_untrusted};
use wf_base::{
    units::moment,
    untrusted::{BOLD, DIM, WARN, paint, styled_line, untrusted},
};
use wf_core::{
    gate::GateAction,
    machine::{AnswerOptions, ApprovalRequest, Artifact, Event, EventKind},
};
use wf_store::RunRow;

/// The kinds of events the text of an approval request is made of.
pub const REQUEST_TEXT_EVENTS: [&str; 6] = [
    "gate_evaluated",
    "agent_briefed",
    "exchange_gated",
    "model_call_ended",
    "tool_call_ended",
    "tool_call_refused",
];

/// A pending approval, with everything the decision covers. Invisible characters are shown by
/// their numbers.
pub fn approval_request_text(
    request: &ApprovalRequest,
    row: &RunRow,
    events: &[Event],
    artifacts: &[Artifact],
) -> String {
    let name = match &request.task_id {
        Some(place) => format!("`{place}` of run {}", row.id.short()),
        None => format!("run {}", row.id.short()),
    };
    let mut text = format!(
        "{} {name}, plan {} ({})\n  {}\n",
        paint(BOLD, if request.is_question() { "answer requested by" } else { "approval requested by" }),
        row.plan,
        untrusted(&row.path),
        quote_untrusted(&request.message, "  "),
    );
    for (name, value) in &request.show {
        let value = value_text(value);
        let gap = if value.trim_end().contains('\n') { "" } else { " " };
        let _ =
            writeln!(text, "  {}{gap}{}", paint(DIM, &format!("{name}:")), quote_untrusted(&value, "    "));
    }
    if let Some(options) = &request.answer {
        text.push_str(&options_text(options));
    }
    for (name, value) in &request.rewritten {
        let value = value.to_string();
        let _ = writeln!(text, "  {} {name} → {}", paint(WARN, "rewritten:"), untrusted(&value));
    }
    let judged = events_of_subject(request, events).iter().filter_map(|event| match &event.fact {
        EventKind::GateEvaluated { task_id, result } if *task_id == request.task_id => Some(result),
        _ => None,
    });
    for result in judged.filter(|result| result.action != GateAction::Continue) {
        let reason = quote_untrusted(&result.reason, "    ");
        let word = result.action.as_str();
        let _ = writeln!(text, "  gate {}: {word} {reason}", result.gate);
    }
    for file in artifacts {
        let (path, digest) = (untrusted(&file.path), file.digest.short());
        let _ = writeln!(text, "  {} {path} · {digest}", paint(DIM, "checked version:"));
    }
    if let Some(risk) = request.risk_of_approval() {
        let _ = writeln!(text, "  {} {}", paint(DIM, "risk:"), untrusted(&risk.to_string()));
    }
    text.push_str(&approvers_and_deadline(request));
    text
}

/// The answers that a request permits.
fn options_text(options: &AnswerOptions) -> String {
    let name = |name: &str| paint(DIM, name);
    match options {
        AnswerOptions::Choose(words) => {
            format!("  {} {}\n", name("to choose from:"), styled_line(&words.join(", ")))
        }
        AnswerOptions::Edit { text, .. } => {
            format!("  {} {}\n", name("text that you may change:"), quote_untrusted(text, "    "))
        }
        AnswerOptions::Select(entries) => {
            let mut text = format!("  {}\n", name("all, or a selection:"));
            for (position, entry) in (1..).zip(entries) {
                text.push_str(&entry_text(position, entry));
            }
            text
        }
    }
}

fn entry_text(position: u32, entry: &serde_json::Value) -> String {
    let value = entry.as_str().map_or_else(|| entry.to_string(), str::to_owned);
    format!("    {position}. {}\n", quote_untrusted(&value, "       "))
}

/// Returns the events that may be about the same: for a call of an agent, those since its last action.
fn events_of_subject<'a>(request: &ApprovalRequest, events: &'a [Event]) -> &'a [Event] {
    let before = |event: &Event| {
        let id = match &event.fact {
            EventKind::AgentBriefed(briefing) => Some(&briefing.attempt.task_id),
            EventKind::ExchangeGated(gated) => Some(&gated.attempt.task_id),
            EventKind::ModelCallEnded(end) => Some(&end.attempt.task_id),
            EventKind::ToolCallEnded(end) => Some(&end.id.attempt.task_id),
            EventKind::ToolCallRefused(refusal) => Some(&refusal.id.attempt.task_id),
            _ => None,
        };
        id.is_some() && id == request.task_id.as_ref()
    };
    let from = request.is_of_agent().then(|| events.iter().rposition(before)).flatten();
    events.get(from.unwrap_or(0)..).unwrap_or(events)
}

fn approvers_and_deadline(request: &ApprovalRequest) -> String {
    let mut text = String::new();
    let who = match (request.required, request.approvers.as_slice()) {
        (None, []) => "as many as the policy requires".to_owned(),
        (None, names) => format!("of {}", names.join(", ")),
        (Some(count), []) => format!("{count} of all approvers"),
        (Some(count), names) => format!("{count} of {}", names.join(", ")),
    };
    let label = if request.is_question() { "required answers:" } else { "required approvals:" };
    let _ = writeln!(text, "  {} {}", paint(DIM, label), styled_line(&who));
    if let Some(queue) = &request.queue {
        let _ = writeln!(text, "  {} {}", paint(DIM, "queue:"), untrusted(queue));
    }
    let _ = writeln!(text, "  {} {}", paint(DIM, "until:"), moment(request.expires));
    text
}
