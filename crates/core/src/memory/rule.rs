use serde::Serialize;

use crate::memory::{Megram, MegramLevel, MegramOrigin, MegramState, MegramTags};
use wf_base::{digest::Sha256Digest, keyword::Keyword, keywords, time::Moment};

keywords! {
    /// The sense of a rule.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RuleSense {
        /// The subject should be used.
        BestPractice = "best practice",
        /// The subject must not be used.
        Constraint = "constraint",
    }
}

/// A megram that is not a rule, and so cannot be contradicted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("megram {} is not a rule: its level is {level}", id.short())]
pub struct RuleExpectedError {
    pub id: Sha256Digest,
    pub level: MegramLevel,
}

impl RuleSense {
    /// Returns the state whose weights a rule has: the row of the matrix declaring that it makes such a rule
    /// (artoo v0.8, R5).
    pub fn state(self) -> MegramState {
        match self {
            Self::BestPractice => MegramState::Success,
            Self::Constraint => MegramState::Abandon,
        }
    }

    /// True if evidence with this decision contradicts it.
    pub fn is_contradicted(self, decision: f64) -> bool {
        match self {
            Self::BestPractice => decision < 0.0,
            Self::Constraint => decision > 0.0,
        }
    }
}

impl Megram {
    pub fn sense(&self) -> Option<RuleSense> {
        match self.level {
            MegramLevel::CommonSense if self.sigma < 0.0 => Some(RuleSense::Constraint),
            MegramLevel::CommonSense => Some(RuleSense::BestPractice),
            _ => None,
        }
    }
}

/// Makes a megram contradicting a rule, in the user's words. The rule itself stays as it is until the Dreamer
/// weighs the evidence (artoo v0.8, R5: an error is corrected by an addition).
///
/// The source defines this for a best practice only, with a negative σ. Against a constraint σ is
/// positive: a negative one would make it stronger.
pub fn contradict(
    rule_megram: &Megram,
    content: String,
    origin: MegramOrigin<'_>,
) -> Result<Megram, RuleExpectedError> {
    let Some(sense) = rule_megram.sense() else {
        return Err(RuleExpectedError { id: rule_megram.id, level: rule_megram.level });
    };
    let mut megram = Megram::new(MegramState::Feedback, rule_megram.tags.clone(), content, origin);
    if sense == RuleSense::Constraint {
        megram.sigma = -megram.sigma;
    }
    Ok(megram)
}

/// The number of characters of the last content a rule repeats.
const REPEATED: usize = 200;

/// The origin of a rule.
const DREAMER: &str = "dreamer";

/// Makes the rule of a cluster: a sentence about its contents. The same megrams make the same rule.
pub(super) fn make_rule(tags: &MegramTags, megrams: &[&Megram], sense: RuleSense, now: Moment) -> Megram {
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
