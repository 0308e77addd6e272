use serde::{Deserialize, Serialize};

use super::line::Line;
use super::{Level, State, Tags, Weights};
use crate::digest::Digest;
use crate::time::Moment;

/// One thing that is remembered: the base tuple of artoo v0.8, R5.
///
/// **Invariant:** 0 ≤ f ≤ 1, −1 ≤ σ ≤ 1 and k ≥ 0; k is 0 on the levels that do not fade; a rule has
/// a σ that is not 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Line", try_from = "Line")]
pub struct Megram {
    /// Its id; what has the same one is the same megram.
    pub id: Digest,
    /// How far up it is.
    pub level: Level,
    /// When it was made; it fades from then on.
    pub created: Moment,
    /// When it was told to a planner last.
    pub recalled: Option<Moment>,
    /// What it is about.
    pub tags: Tags,
    /// What happened, in words.
    pub content: String,
    /// What was decided then.
    pub state: State,
    /// How much it counts when it is new.
    pub f: f64,
    /// For or against.
    pub sigma: f64,
    /// How fast it fades, a day.
    pub k: f64,
}

/// When and from what a megram was made. The same origin gives the same id, so that whoever goes
/// on after a crash can write what it wrote before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// When: the time of the event that it follows from, not of the writing.
    pub at: Moment,
    /// From what: what tells it from others of the same instant, like a run, a round and a number.
    pub from: &'a str,
}

impl Megram {
    /// A megram of the lowest level, with the weights of its state.
    pub fn new(state: State, tags: Tags, content: String, origin: Origin<'_>) -> Self {
        let Weights { f, sigma, k } = state.weights();
        Self {
            id: id(state, &tags, &content, origin),
            level: Level::Megram,
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

    /// Whether another megram is this one, as it was made: what the Dreamer and a recall change
    /// does not count.
    pub fn is_made_like(&self, other: &Self) -> bool {
        // A number that was written and read may differ in its last digit.
        let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        (self.id, self.created, self.state) == (other.id, other.created, other.state)
            && self.tags == other.tags
            && self.content == other.content
            && near(self.f, other.f)
            && near(self.sigma, other.sigma)
    }
}

/// The id of a megram: a digest of what does not change about it.
pub(super) fn id(state: State, tags: &Tags, content: &str, origin: Origin<'_>) -> Digest {
    let parts = [
        state.as_str(),
        &tags.space,
        &tags.entity,
        content,
        &origin.at.millis().to_string(),
        origin.from,
    ];
    Digest::of_parts(parts.map(str::as_bytes))
}
