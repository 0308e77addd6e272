use serde::{Deserialize, Serialize};

use crate::memory::{MegramTags, line::MegramLine};
use wf_base::{digest::Sha256Digest, keywords, time::Moment};

/// One remembered event: the base tuple of artoo v0.8, R5.
///
/// **Invariant:** 0 ≤ f ≤ 1, −1 ≤ σ ≤ 1 and k ≥ 0; k is 0 on the levels that do not fade; a rule has
/// a σ that is not 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "MegramLine", try_from = "MegramLine")]
pub struct Megram {
    /// The id; megrams with the same id are the same megram.
    pub id: Sha256Digest,
    pub level: MegramLevel,
    /// The time of creation, from which it fades.
    pub created: Moment,
    /// The last time it was given to a planner.
    pub recalled: Option<Moment>,
    /// The tags of its subject.
    pub tags: MegramTags,
    /// The event, in words.
    pub content: String,
    /// The decision taken then.
    pub state: MegramState,
    /// The weight when new.
    pub f: f64,
    /// The sign: for or against.
    pub sigma: f64,
    /// The decay per day.
    pub k: f64,
}

/// The time and source of a megram. The same origin gives the same id, so an engine that resumes after a
/// crash can write the same megrams again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MegramOrigin<'a> {
    /// The time of the event it follows from, not of the writing.
    pub at: Moment,
    /// The source, unique among those of the same instant: a run, a round and a number, for example.
    pub from: &'a str,
}

impl Megram {
    /// Makes a megram of the lowest level, with the weights of its state.
    pub fn new(state: MegramState, tags: MegramTags, content: String, origin: MegramOrigin<'_>) -> Self {
        let MegramWeights { f, sigma, k } = state.weights();
        Self {
            id: id(state, &tags, &content, origin),
            level: MegramLevel::Megram,
            created: origin.at,
            recalled: None,
            tags,
            content,
            state,
            f,
            sigma,
            k,
        }
    }

    /// True if another megram was made equal to this one, ignoring changes by the Dreamer and by recalls.
    pub fn same_origin(&self, other: &Self) -> bool {
        // A number that was written and read may differ in its last digit.
        let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        (self.id, self.created, self.state) == (other.id, other.created, other.state)
            && self.tags == other.tags
            && self.content == other.content
            && near(self.f, other.f)
            && near(self.sigma, other.sigma)
    }
}

/// Returns the id of a megram: a digest of its immutable parts.
pub(super) fn id(
    state: MegramState,
    tags: &MegramTags,
    content: &str,
    origin: MegramOrigin<'_>,
) -> Sha256Digest {
    let parts =
        [state.as_str(), &tags.space, &tags.entity, content, &origin.at.millis().to_string(), origin.from];
    Sha256Digest::of_parts(parts.map(str::as_bytes))
}

keywords! {
    /// The level of a megram (artoo v0.8, the MKCT pyramid).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum MegramLevel {
        /// M: one event.
        Megram = "megram",
        /// K: knowledge that matters for a while, including rules that lost their trust.
        Knowledge = "knowledge",
        /// C: a rule made of many megrams; it does not fade.
        CommonSense = "common_sense",
        /// T: a law written by the user. It does not fade, and is never withdrawn.
        Thinking = "thinking",
        /// A claim: the text of a file nobody vouches for. It is evidence of nothing, and fades like one event.
        Claim = "claim",
    }
}

impl MegramLevel {
    /// True if megrams of this level fade, and are forgotten.
    pub fn fades(self) -> bool {
        matches!(self, Self::Megram | Self::Knowledge | Self::Claim)
    }

    /// True if megrams of this level are the evidence about a cluster.
    pub fn is_evidence(self) -> bool {
        matches!(self, Self::Megram | Self::Knowledge)
    }
}

keywords! {
    /// The decision of the solver when a megram was made, or feedback of the user. The rows of the
    /// quantization matrix (artoo v0.8, R5), in its order, and one more.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum MegramState {
        /// The goal was abandoned.
        Abandon = "abandon",
        /// Every criterion passed.
        Accept = "accept",
        /// The tool was wrong for the goal.
        ChangeApproach = "change_approach",
        /// The criteria passed within the tolerance.
        Success = "success",
        /// A radically different approach succeeded.
        BreakSymmetry = "break_symmetry",
        /// The target was wrong, not the tool.
        ChangePath = "change_path",
        /// The attempt was nearly right.
        Refine = "refine",
        /// Feedback contradicting a rule.
        Feedback = "feedback",
    }
}

/// The weights of a megram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MegramWeights {
    /// f: the weight when new, from 0 to 1.
    pub f: f64,
    /// σ: for (up to 1) or against (down to −1) the subject.
    pub sigma: f64,
    /// k: the decay per day: after `Δt` days the weight is `f·e^(−k·Δt)`. 0: it never fades.
    pub k: f64,
}

impl MegramState {
    /// Returns its row of the quantization matrix (artoo v0.8, R5).
    ///
    /// The matrix has no row for feedback, except that its σ is negative. It counts like the
    /// strongest row, 0.95: a contradiction must outweigh one success of 0.9, and the user's
    /// feedback counts no less than any finding of the solver. It fades like all decisive states.
    pub fn weights(self) -> MegramWeights {
        let (f, sigma, k) = match self {
            Self::Abandon | Self::Feedback => (0.95, -1.0, 0.05),
            Self::Accept => (0.90, 1.0, 0.05),
            Self::ChangeApproach => (0.85, -1.0, 0.05),
            Self::Success => (0.80, 1.0, 0.05),
            Self::BreakSymmetry => (0.75, 1.0, 0.05),
            Self::ChangePath => (0.30, 0.0, 0.2),
            Self::Refine => (0.10, 0.5, 0.5),
        };
        MegramWeights { f, sigma, k }
    }
}
