use super::{Level, Megram, Origin, Sense, State, Tags};
use crate::time::Moment;

/// How much of the last content a rule repeats, in characters.
const REPEATED: usize = 200;

/// Where a rule comes from.
const DREAMER: &str = "dreamer";

/// Makes the rule of a cluster: a sentence of what is in it. The same megrams make the same rule.
pub(super) fn rule(tags: &Tags, cluster: &[&Megram], sense: Sense, now: Moment) -> Megram {
    let origin = Origin {
        at: now,
        from: DREAMER,
    };
    let content = sentence(tags, cluster, sense);
    let mut rule = Megram::new(sense.state(), tags.clone(), content, origin);
    rule.level = Level::CommonSense;
    rule.k = 0.0;
    rule
}

fn sentence(tags: &Tags, cluster: &[&Megram], sense: Sense) -> String {
    let what = match sense {
        Sense::BestPractice => "Best practice: prefer",
        Sense::Constraint => "Constraint: do not use",
    };
    let counts: Vec<String> = State::ALL
        .into_iter()
        .map(|state| {
            (
                state,
                cluster.iter().filter(|one| one.state == state).count(),
            )
        })
        .filter(|(_, count)| *count > 0)
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    let mut text = format!(
        "{what} {} on {}. Seen {} times: {}.",
        tags.space,
        tags.entity,
        cluster.len(),
        counts.join(", ")
    );
    let last = cluster.iter().max_by_key(|one| (one.created, one.id));
    if let Some(last) = last.filter(|last| !last.content.trim().is_empty()) {
        text.push_str(" Last: ");
        text.push_str(&shortened(&last.content));
    }
    text
}

/// A text on one line, without its end if it is long.
fn shortened(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let mut short: String = line.chars().take(REPEATED).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}
