use serde::{Deserialize, Serialize};

use wf_base::{digest::Sha256Digest, time::Moment};

/// A notification, sent as this JSON object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalNotification {
    /// The id, the same for every attempt to send it: see [`GoalNotification::id_of`].
    pub id: String,
    pub goal: String,
    pub transition: String,
    /// The scheduled time of its reconciliation; `None`: it ran out of turn.
    pub slot: Option<Moment>,
    /// The time of the finding.
    pub at: Moment,
    /// A summary in one sentence.
    pub summary: String,
    /// The runs it comes from, the first look first.
    pub runs: Vec<String>,
    /// The address for more information, if there is one.
    pub url: Option<String>,
}

impl GoalNotification {
    /// Returns the id of the notification of a goal's transition, found at this instant: the
    /// same after a restart, and without a dot, which signatures use as a separator.
    pub fn id_of(goal: &str, transition: &str, at: Moment) -> String {
        let at = at.millis().to_be_bytes();
        let digest = Sha256Digest::of_parts([goal.as_bytes(), transition.as_bytes(), &at]);
        let short: String = digest.to_string().chars().take(32).collect();
        format!("notice_{short}")
    }
}
