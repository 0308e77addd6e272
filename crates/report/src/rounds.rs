//! The rounds of a run and the controller's decisions as text.

use std::fmt::Write as _;

use wf_base::{
    name::Name,
    untrusted::{BAD, DIM, GOOD, NAME, WARN, paint, styled_line, untrusted},
};
use wf_core::{
    ggs::Directive,
    machine::{AlternativeSwitch, EventKind, IntentAdvice, Round, ToolAdvice},
};

/// The rounds of a run, a line each: `1  D 0.67  P 0.00  Ω 0.00  L 0.40  ∇L 0.00  change_path`, and
/// the changes. With `all`, also the blocked and repeated steps, and the reasons.
pub fn rounds_table(rounds: &[Round], is_full: bool) -> String {
    let mut text = String::new();
    for round in rounds {
        let loss = &round.solved.loss;
        let _ = write!(
            text,
            "  {:>2}  D {:.2}  P {:.2}  Ω {:.2}  L {:.2}  ∇L {:+.2}  {}  {}",
            round.round,
            loss.d,
            loss.p,
            loss.omega,
            loss.l,
            round.solved.gradient,
            directive(round.solved.directive),
            round.checks,
        );
        if let Some(failed) = &round.failed_check {
            let failure_class =
                round.failure_class.map(|failure_class| format!(" ({})", failure_class.as_str()));
            let failed = untrusted(failed);
            let _ = write!(text, " · {failed}{}", failure_class.unwrap_or_default());
        }
        text.push('\n');
        for switch in &round.changes {
            let _ = writeln!(text, "        {}", change_text(switch));
        }
        if let Some(stop_reason) = &round.stop_reason {
            let _ = writeln!(text, "        {}", paint(BAD, &untrusted(stop_reason)));
        }
        if !round.escalated.is_empty() {
            let _ = writeln!(text, "        {}", paint(WARN, &escalation_text(round)));
        }
        if is_full {
            text.push_str(&details(round));
        }
    }
    text
}

fn details(round: &Round) -> String {
    let mut text = String::new();
    let mut field = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = writeln!(text, "        {} {}", paint(DIM, &format!("{name:<9}")), styled_line(&value));
        }
    };
    field("reason", untrusted(&round.rationale).to_string());
    let cell = round.solved.cell.map(|cell| cell.to_string());
    field("cell", cell.unwrap_or_default());
    let words = format!("{:?}", round.solved.urgency).to_lowercase();
    field("urgency", words);
    field("tools", blocked(&round.blocked_tools));
    field("targets", blocked(&round.blocked_targets));
    let again: Vec<&str> = round.reopened.iter().map(wf_base::name::Name::as_str).collect();
    field("again", again.join(", "));
    text
}

fn blocked(words: &[String]) -> String {
    if words.is_empty() {
        return String::new();
    }
    format!("blocked: {}", untrusted(&words.join(", ")))
}

fn directive(directive: Directive) -> String {
    let style = match directive {
        Directive::Accept => GOOD,
        Directive::Abandon => BAD,
        _ => WARN,
    };
    paint(style, directive.as_str())
}

/// A change in words: ``fetch: `mirror_b` instead of the step as written (change_path), on x``.
pub fn change_text(switch: &AlternativeSwitch) -> String {
    let way = |name: Option<&Name>| match name {
        Some(name) => format!("`{name}`"),
        None => "the step as written".to_owned(),
    };
    let target = switch.target.as_ref();
    let target = target.map(|target| format!(" on {}", untrusted(target))).unwrap_or_default();
    format!(
        "{}: {} instead of {} ({}, with {}{target})",
        paint(NAME, switch.step.as_str()),
        way(switch.to.as_ref()),
        way(switch.from.as_ref()),
        switch.kind.as_str(),
        untrusted(&switch.tool),
    )
}

/// A request to a planner, or its result, in one line; empty for all other facts.
pub fn planner_text(kind: &EventKind) -> String {
    match kind {
        EventKind::PlannerRequested { steps, .. } => {
            let steps: Vec<&str> = steps.iter().map(Name::as_str).collect();
            format!("no declared alternative is left: asked for {}", steps.join(", "))
        }
        EventKind::PlannerAccepted { alternatives: ways, reason, .. } => {
            let ways = ways.iter();
            let ways: Vec<String> = ways.map(|(step, way)| format!("{step}: `{}`", way.id)).collect();
            let because = if reason.is_empty() { "" } else { " · " };
            format!("proposed {}{because}{}", ways.join(", "), untrusted(reason))
        }
        EventKind::PlannerRejected(rejection) => {
            let then = if rejection.asked_again { " · asked again" } else { "" };
            format!("rejected: {}{then}", untrusted(&rejection.reason))
        }
        _ => String::new(),
    }
}

/// The advice of memory, a line each: `avoid cc:old on x (attention 0.85, decision −0.85)`.
pub fn memory_advice_text(
    intent: Option<&IntentAdvice>,
    advice: &[ToolAdvice],
    switches: &[AlternativeSwitch],
) -> Vec<String> {
    let sums = |attention, decision| format!("(attention {attention:.2}, decision {decision:+.2})");
    let intent = intent.map(|intent_advice| {
        let (advice, sums) =
            (intent_advice.advice.as_str(), sums(intent_advice.attention, intent_advice.decision));
        format!("{advice} intent:{} {sums}", intent_advice.slug)
    });
    let advice_texts = advice.iter().map(|tool_advice| {
        let on = tool_advice.target.as_ref();
        let on = on.map(|target| format!(" on {}", untrusted(target)));
        let (advice, sums) = (tool_advice.advice.as_str(), sums(tool_advice.attention, tool_advice.decision));
        let tool = untrusted(&tool_advice.tool);
        format!("{advice} {tool}{} {sums}", on.unwrap_or_default())
    });
    let texts = intent.into_iter().chain(advice_texts);
    texts.chain(switches.iter().map(change_text)).collect()
}

/// The result of a round, in one line, during the run.
pub fn round_text(round: &Round) -> String {
    let mut text =
        format!("{} · {} · {}", round.round, directive(round.solved.directive), untrusted(&round.rationale));
    for switch in &round.changes {
        let _ = write!(text, " · {}", change_text(switch));
    }
    if let Some(stop_reason) = &round.stop_reason {
        let _ = write!(text, " · {}", untrusted(stop_reason));
    }
    if !round.escalated.is_empty() {
        let _ = write!(text, " · {}", escalation_text(round));
    }
    text
}

/// Returns the steps people are asked about, in words.
fn escalation_text(round: &Round) -> String {
    let steps: Vec<String> = round.escalated.iter().map(|step| format!("`{step}`")).collect();
    format!("people are asked about {}", steps.join(", "))
}
