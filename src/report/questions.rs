//! What a run asks of people, as whoever answers is shown it.

use std::fmt::Write as _;

use super::lines::quoted;
use super::units::moment;
use super::{BOLD, DIM, WARN, paint};
use crate::gate::Action;
use crate::machine::{Artifact, Ask, Event, Fact};
use crate::store::RunRow;
use crate::untrusted::{styled_line, untrusted};

/// What somebody is asked, with all that the answer is about. Characters that are not seen are
/// shown by their numbers.
pub fn shown(ask: &Ask, row: &RunRow, (events, files): (&[(u64, Event)], &[Artifact])) -> String {
    let name = match &ask.place {
        Some(place) => format!("`{place}` of run {}", row.id.short()),
        None => format!("run {}", row.id.short()),
    };
    let mut text = format!(
        "{} {name}, plan {} ({})\n  {}\n",
        paint(BOLD, "asked by"),
        row.plan,
        untrusted(&row.path),
        quoted(&ask.message, "  "),
    );
    for (name, value) in &ask.show {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let _ = writeln!(
            text,
            "  {} {}",
            paint(DIM, &format!("{name}:")),
            quoted(&value, "    ")
        );
    }
    for (name, value) in &ask.rewritten {
        let value = value.to_string();
        let _ = writeln!(
            text,
            "  {} {name} is now {}",
            paint(WARN, "rewritten:"),
            untrusted(&value)
        );
    }
    let judged = events.iter().filter_map(|(_, event)| match &event.fact {
        Fact::GateJudged { place, result } if *place == ask.place => Some(result),
        _ => None,
    });
    for result in judged.filter(|result| result.action != Action::Continue) {
        let reason = quoted(&result.reason, "    ");
        let word = result.action.as_str();
        let _ = writeln!(text, "  gate {}: {word} {reason}", result.gate);
    }
    for file in files {
        let (path, digest) = (untrusted(&file.path), file.digest.short());
        let _ = writeln!(
            text,
            "  {} {path} · {digest}",
            paint(DIM, "as it was checked:")
        );
    }
    text.push_str(&deciders(ask));
    text
}

/// Who answers, and until when.
fn deciders(ask: &Ask) -> String {
    let mut text = String::new();
    let who = match (ask.required, ask.approvers.as_slice()) {
        (None, []) => "as many as the policy demands".to_owned(),
        (None, names) => format!("of {}", names.join(", ")),
        (Some(count), []) => format!("{count} of all approvers"),
        (Some(count), names) => format!("{count} of {}", names.join(", ")),
    };
    let _ = writeln!(
        text,
        "  {} {}",
        paint(DIM, "who must agree:"),
        styled_line(&who)
    );
    if let Some(queue) = &ask.queue {
        let _ = writeln!(text, "  {} {}", paint(DIM, "queue:"), untrusted(queue));
    }
    let _ = writeln!(text, "  {} {}", paint(DIM, "until:"), moment(ask.expires));
    text
}
