use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::time::Moment;

/// What people are told; sent as this JSON object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The same for the same news, however often it is sent: see [`Notice::id_of`].
    pub id: String,
    /// The goal.
    pub goal: String,
    /// What became of it.
    pub transition: String,
    /// The slot of the cycle that found it; `None`: it was looked at out of turn.
    pub slot: Option<Moment>,
    /// When it was found.
    pub at: Moment,
    /// One sentence for people.
    pub summary: String,
    /// The runs that it comes from, the first look first.
    pub runs: Vec<String>,
    /// Where to read more, if there is such a place.
    pub url: Option<String>,
}

impl Notice {
    /// The id of the news that a goal made a transition, found at this instant: the same after a
    /// restart, and without a dot, which signatures use as a mark.
    pub fn id_of(goal: &str, transition: &str, at: Moment) -> String {
        let at = at.millis().to_be_bytes();
        let digest = Digest::of_parts([goal.as_bytes(), transition.as_bytes(), &at]);
        let short: String = digest.to_string().chars().take(32).collect();
        format!("notice_{short}")
    }
}
