use std::fmt::Write as _;

use serde_json::{Value, json};

use wf_base::untrusted::{BAD, BOLD, DIM, GOOD, WARN, paint, styled_line};
use wf_core::gate::{GateAction, GateOutcome, GateResult, ResolvedEscalation};
use wf_model::{Escalation, Gate, GateLane};

/// The answer of a gate as text: its lane, its answer and the reason, its rewrite, and the
/// escalations a block would lead to.
pub fn gate_result_text(gate: &Gate, gated: &GateOutcome, escalations: &[ResolvedEscalation]) -> String {
    let mut text = String::new();
    for result in &gated.results {
        let lane = lane(result.lane);
        let provider = gate.provider.as_str();
        let on = result.trigger.as_str();
        let about = format!("{lane} · {provider} · {on}");
        let id = paint(BOLD, result.gate.as_str());
        let _ = writeln!(text, "gate {id}  {}", paint(DIM, &about));
        text += &answer(result);
    }
    for (name, value) in &gated.rewritten {
        text += &line("now", &format!("{name}: {value}"));
    }
    for (at, escalation) in escalations.iter().enumerate() {
        let word = if at == 0 { "escalates to" } else { "then" };
        text += &line(word, &step(&escalation.escalation));
        if let Some(warning) = &escalation.warning {
            text += &line("warning", &paint(WARN, warning));
        }
    }
    text
}

/// The same as JSON.
pub fn gate_result_json(gate: &Gate, gated: &GateOutcome, escalations: &[ResolvedEscalation]) -> Value {
    let escalations = escalations.iter().map(|resolved_escalation| {
        let escalation = &resolved_escalation.escalation;
        json!({
            "name": escalation.name,
            "action": escalation.action,
            "message": escalation.message,
            "queue": escalation.queue,
            "plan": escalation.plan,
            "warning": resolved_escalation.warning,
        })
    });
    json!({
        "gate": gate.id,
        "path": gate.path,
        "provider": gate.provider.as_str(),
        "result": gated.results.first(),
        "rewritten": gated.rewritten,
        "escalations": escalations.collect::<Vec<_>>(),
    })
}

/// The word for a lane.
pub fn lane(lane: GateLane) -> &'static str {
    match lane {
        GateLane::Policy => "policy",
        GateLane::Quality => "quality",
    }
}

fn answer(result: &GateResult) -> String {
    let style = match result.action {
        GateAction::Continue => GOOD,
        GateAction::RequireApproval => WARN,
        GateAction::Block => BAD,
    };
    let mut text = line("answer", &paint(style, result.action.as_str()));
    let lists = [("flags", &result.flags), ("rewrites", &result.changed), ("stripped", &result.rejected)];
    if !result.reason.is_empty() {
        text += &line("reason", &result.reason);
    }
    if let Some(score) = result.score {
        text += &line("score", &score.to_string());
    }
    for (word, list) in lists {
        if !list.is_empty() {
            text += &line(word, &list.join(", "));
        }
    }
    if let Some(ignored) = result.ignored {
        let reason = format!("{}: a quality gate only advises", ignored.as_str());
        text += &line("ignored", &reason);
    }
    text
}

/// The action of an escalation, in a few words.
fn step(escalation: &Escalation) -> String {
    let mut text = format!("{}: {}", escalation.name, escalation.action.as_str());
    let parts = [
        ("queue", &escalation.queue),
        ("plan", &escalation.plan),
        ("rephrase", &escalation.rephrase),
        ("message", &escalation.message),
    ];
    for (word, value) in parts {
        if let Some(value) = value {
            let _ = write!(text, ", {word} `{value}`");
        }
    }
    text
}

/// A line below the first, with its label in front.
fn line(word: &str, text: &str) -> String {
    format!("  {word:<9} {}\n", styled_line(text.trim_end()))
}
