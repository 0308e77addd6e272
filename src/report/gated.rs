use std::fmt::Write as _;

use serde_json::{Value, json};

use super::paint::{BAD, BOLD, DIM, GOOD, WARN, paint};
use crate::gate::{Action, GateResult, Gated, Resolved};
use crate::model::{Escalation, Gate, Lane};
use crate::untrusted::styled_line;

/// What a gate said, for people: its lane, its answer and why, what it rewrote, and what would
/// follow from a block.
pub fn gated(gate: &Gate, gated: &Gated, leads_to: &[Resolved]) -> String {
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
    for (at, one) in leads_to.iter().enumerate() {
        let word = if at == 0 { "leads to" } else { "then" };
        text += &line(word, &step(&one.escalation));
        if let Some(warning) = &one.warning {
            text += &line("warning", &paint(WARN, warning));
        }
    }
    text
}

/// The same for programs.
pub fn gated_json(gate: &Gate, gated: &Gated, leads_to: &[Resolved]) -> Value {
    let escalations = leads_to.iter().map(|one| {
        let escalation = &one.escalation;
        json!({
            "name": escalation.name,
            "action": escalation.action,
            "message": escalation.message,
            "queue": escalation.queue,
            "plan": escalation.plan,
            "warning": one.warning,
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
pub fn lane(lane: Lane) -> &'static str {
    match lane {
        Lane::Policy => "policy",
        Lane::Quality => "quality",
    }
}

fn answer(result: &GateResult) -> String {
    let style = match result.action {
        Action::Continue => GOOD,
        Action::RequireApproval => WARN,
        Action::Block => BAD,
    };
    let mut text = line("answer", &paint(style, result.action.as_str()));
    let lists = [
        ("flags", &result.flags),
        ("rewrites", &result.changed),
        ("stripped", &result.rejected),
    ];
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
        let why = format!("{}: it advises, and decides nothing", ignored.as_str());
        text += &line("ignored", &why);
    }
    text
}

/// What an escalation does, in a few words.
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

/// A line below the first, with its word in front.
fn line(word: &str, what: &str) -> String {
    format!("  {word:<9} {}\n", styled_line(what.trim_end()))
}
