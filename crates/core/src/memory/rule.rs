use serde::Serialize;

use super::{Megram, MegramLevel, MegramOrigin, MegramState};
use wf_base::digest::Sha256Digest;
use wf_base::keywords;

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
