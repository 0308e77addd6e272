//! The settings of a state: how durable a write is, and what pruning keeps.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use wf_base::time::Moment;

/// The failures an acknowledged write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreDurability {
    /// A loss of power.
    #[default]
    Full,
    /// A kill of the program; not a loss of power.
    Normal,
}

impl StoreDurability {
    /// Returns the word in `wf.yaml` and in the record of a run.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Normal => "normal",
        }
    }
}

/// The limits beyond which runs are pruned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunRetention {
    /// The age, since its end, beyond which a run is pruned.
    pub max_age: Option<Duration>,
    /// The number of ended runs kept; nested runs are kept and pruned with the outer run.
    pub max_runs: Option<usize>,
    /// The size of the stored files beyond which those of the oldest runs are removed, in bytes.
    pub max_artifact_bytes: Option<u64>,
}

impl RunRetention {
    /// Returns the limits with the age counted to the end of another run, if that was earlier than now: one run of a machine
    /// whose clock is wrong, or the first one after a long pause, prunes nothing for its age.
    #[must_use]
    pub fn counted_to(self, end: Option<Moment>, now: Moment) -> Self {
        let more = end.map_or(Duration::ZERO, |end| now.since(end));
        Self { max_age: self.max_age.map(|age| age.saturating_add(more)), ..self }
    }
}
