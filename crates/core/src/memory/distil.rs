use super::{Megram, MegramLevel, MegramOrigin, MegramState, MegramTags, RuleSense};
use wf_base::keyword::Keyword;
use wf_base::time::Moment;

/// The number of characters of the last content a rule repeats.
const REPEATED: usize = 200;

/// The origin of a rule.
const DREAMER: &str = "dreamer";

/// Makes the rule of a cluster: a sentence about its contents. The same megrams make the same rule.
pub(super) fn rule(tags: &MegramTags, megrams: &[&Megram], sense: RuleSense, now: Moment) -> Megram {
    let origin = MegramOrigin { at: now, from: DREAMER };
    let content = rule_sentence(tags, megrams, sense);
    let mut rule = Megram::new(sense.state(), tags.clone(), content, origin);
    rule.level = MegramLevel::CommonSense;
    rule.k = 0.0;
    rule
}

fn rule_sentence(tags: &MegramTags, megrams: &[&Megram], sense: RuleSense) -> String {
    let advice = match sense {
        RuleSense::BestPractice => "Best practice: prefer",
        RuleSense::Constraint => "Constraint: do not use",
    };
    let counts: Vec<String> = MegramState::ALL
        .iter()
        .map(|state| (state, megrams.iter().filter(|one| one.state == *state).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    let mut text = format!(
        "{advice} {} on {}. Seen {} times: {}.",
        tags.space,
        tags.entity,
        megrams.len(),
        counts.join(", ")
    );
    let last = megrams.iter().max_by_key(|one| (one.created, one.id));
    if let Some(last) = last.filter(|last| !last.content.trim().is_empty()) {
        text.push_str(" Last: ");
        text.push_str(&shorten(&last.content));
    }
    text
}

/// Returns a text as one line, cut off if it is long.
fn shorten(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let mut short: String = line.chars().take(REPEATED).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}
