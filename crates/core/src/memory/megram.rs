use serde::{Deserialize, Serialize};

use super::line::MegramLine;
use super::{MegramLevel, MegramState, MegramTags, MegramWeights};
use wf_base::digest::Sha256Digest;
use wf_base::time::Moment;

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
