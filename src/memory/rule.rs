use serde::Serialize;

use super::{Level, Megram, Origin, State};
use crate::digest::Digest;

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sense {
    /// It should be done so.
    BestPractice,
    /// It must not be done.
    Constraint,
}

/// A megram is no rule, and so nobody can contradict it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("megram {} is no rule: its level is {level}", id.short())]
pub struct NotARule {
    /// Which.
    pub id: Digest,
    /// Its level.
    pub level: Level,
}

impl Sense {
    /// Its words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BestPractice => "best practice",
            Self::Constraint => "constraint",
        }
    }

    /// The state whose weights a rule has: the row of the matrix that says of itself that it makes
    /// such a rule (artoo v0.8, R5).
    pub fn state(self) -> State {
        match self {
            Self::BestPractice => State::Success,
            Self::Constraint => State::Abandon,
        }
    }

    /// Whether evidence with such a decision speaks against it.
    pub fn is_contradicted(self, decision: f64) -> bool {
        match self {
            Self::BestPractice => decision < 0.0,
            Self::Constraint => decision > 0.0,
        }
    }
}

impl Megram {
    /// What it says, if it is a rule.
    pub fn sense(&self) -> Option<Sense> {
        match self.level {
            Level::CommonSense if self.sigma < 0.0 => Some(Sense::Constraint),
            Level::CommonSense => Some(Sense::BestPractice),
            _ => None,
        }
    }
}

/// A megram that contradicts a rule, in somebody's words. The rule itself stays as it is until the
/// Dreamer weighs what is known (artoo v0.8, R5: an error is corrected by what is added).
///
/// The source knows this for a best practice only, where σ is negative. Against a constraint σ is
/// positive: a negative one would make it stronger.
pub fn against(rule: &Megram, content: String, origin: Origin<'_>) -> Result<Megram, NotARule> {
    let Some(sense) = rule.sense() else {
        return Err(NotARule {
            id: rule.id,
            level: rule.level,
        });
    };
    let mut megram = Megram::new(State::Feedback, rule.tags.clone(), content, origin);
    if sense == Sense::Constraint {
        megram.sigma = -megram.sigma;
    }
    Ok(megram)
}
