//! What the controller made of the rounds of a run, for people.

use std::fmt::Write as _;

use super::paint::{BAD, DIM, GOOD, NAME, WARN, paint};
use crate::ggs::Directive;
use crate::machine::{Advised, Change, Fact, IntentAdvice, Round};
use crate::name::Name;
use crate::untrusted::{styled_line, untrusted};

/// The rounds of a run, a line each: `1  D 0.67  P 0.00  Ω 0.00  L 0.40  ∇L 0.00  change_path`,
/// and what was changed. With `all`, also what was blocked, what ran again, and why.
pub fn rounds(rounds: &[Round], all: bool) -> String {
    let mut text = String::new();
    for round in rounds {
        let loss = &round.solved.loss;
        let _ = write!(
            text,
            "  {:>2}  D {:.2}  P {:.2}  Ω {:.2}  L {:.2}  ∇L {:+.2}  {}  {}",
            round.number,
            loss.d,
            loss.p,
            loss.omega,
            loss.l,
            round.solved.gradient,
            directive(round.solved.directive),
            round.criteria,
        );
        if let Some(failed) = &round.failed {
            let class = round.class.map(|class| format!(" ({})", class.as_str()));
            let failed = untrusted(failed);
            let _ = write!(text, " · {failed}{}", class.unwrap_or_default());
        }
        text.push('\n');
        for one in &round.changes {
            let _ = writeln!(text, "        {}", change(one));
        }
        if let Some(stuck) = &round.stuck {
            let _ = writeln!(text, "        {}", paint(BAD, &untrusted(stuck)));
        }
        if all {
            text.push_str(&details(round));
        }
    }
    text
}

fn details(round: &Round) -> String {
    let mut text = String::new();
    let mut field = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = writeln!(
                text,
                "        {} {}",
                paint(DIM, &format!("{name:<9}")),
                styled_line(&value)
            );
        }
    };
    field("why", untrusted(&round.rationale).to_string());
    let cell = round.solved.cell.map(|cell| cell.to_string());
    field("cell", cell.unwrap_or_default());
    let words = format!("{:?}", round.solved.urgency).to_lowercase();
    field("urgency", words);
    field("tools", blocked(&round.blocked_tools));
    field("targets", blocked(&round.blocked_targets));
    let again: Vec<&str> = round
        .reopened
        .iter()
        .map(crate::name::Name::as_str)
        .collect();
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
pub fn change(change: &Change) -> String {
    let way = |name: Option<&Name>| match name {
        Some(name) => format!("`{name}`"),
        None => "the step as it is written".to_owned(),
    };
    let target = change.target.as_ref();
    let target = target
        .map(|target| format!(" on {}", untrusted(target)))
        .unwrap_or_default();
    format!(
        "{}: {} instead of {} ({}, with {}{target})",
        paint(NAME, change.step.as_str()),
        way(change.to.as_ref()),
        way(change.from.as_ref()),
        change.kind.as_str(),
        untrusted(&change.tool),
    )
}

/// What was asked of a planner, or what became of that, in one line; empty for all else.
pub fn planner(fact: &Fact) -> String {
    match fact {
        Fact::PlannerAsked { steps, .. } => {
            let steps: Vec<&str> = steps.iter().map(Name::as_str).collect();
            format!("no declared way is left: asked about {}", steps.join(", "))
        }
        Fact::PlannerAnswered { ways, reason, .. } => {
            let ways = ways.iter();
            let ways: Vec<String> = ways
                .map(|(step, way)| format!("{step}: `{}`", way.id))
                .collect();
            let because = if reason.is_empty() { "" } else { " · " };
            format!("gave {}{because}{}", ways.join(", "), untrusted(reason))
        }
        Fact::PlannerRefused { why, .. } => format!("refused: {}", untrusted(why)),
        _ => String::new(),
    }
}

/// What memory said, a line each: `avoid cc:old on x (attention 0.85, decision −0.85)`.
pub fn remembered(
    intent: Option<&IntentAdvice>,
    advice: &[Advised],
    changes: &[Change],
) -> Vec<String> {
    let sums = |attention, decision| format!("(attention {attention:.2}, decision {decision:+.2})");
    let intent = intent.map(|one| {
        let (advice, sums) = (one.advice.as_str(), sums(one.attention, one.decision));
        format!("{advice} intent:{} {sums}", one.slug)
    });
    let said = advice.iter().map(|one| {
        let on = one.target.as_ref();
        let on = on.map(|target| format!(" on {}", untrusted(target)));
        let (advice, sums) = (one.advice.as_str(), sums(one.attention, one.decision));
        let tool = untrusted(&one.tool);
        format!("{advice} {tool}{} {sums}", on.unwrap_or_default())
    });
    let said = intent.into_iter().chain(said);
    said.chain(changes.iter().map(change)).collect()
}

/// What a round led to, in one line, while it happens.
pub fn news(round: &Round) -> String {
    let mut text = format!(
        "{} · {} · {}",
        round.number,
        directive(round.solved.directive),
        untrusted(&round.rationale)
    );
    for one in &round.changes {
        let _ = write!(text, " · {}", change(one));
    }
    if let Some(stuck) = &round.stuck {
        let _ = write!(text, " · {}", untrusted(stuck));
    }
    text
}
