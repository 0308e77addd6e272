use serde::{Deserialize, Serialize};

use super::record::Record;
use super::verify::Story;
use crate::bus::Bound;
use crate::digest::Digest;
use crate::seal::canonical;
use crate::time::Moment;

/// What a checkpoint is called in its own text.
pub const TYPE: &str = "urn:wf:audit:checkpoint:v1";

/// The type of a signed checkpoint's payload.
pub const PAYLOAD: &str = "application/vnd.wf.audit-checkpoint+json";

/// The heads of both logs at an instant. Whoever keeps it, in git for example, can tell later
/// whether the history up to there is still the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// What this is.
    #[serde(rename = "_type")]
    pub kind: String,
    /// When it was made.
    pub at: Moment,
    /// The last event of the database; absent: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<Bound>,
    /// The last record of the audit log.
    pub log: Head,
}

/// The last record of the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Head {
    /// Its number; 0: there was none.
    pub n: u64,
    /// Its hash.
    pub hash: Digest,
}

impl Checkpoint {
    /// The heads of logs that were just verified.
    pub(super) fn new(at: Moment, database: Option<Bound>, last: Option<&Record>) -> Self {
        Self {
            kind: TYPE.into(),
            at,
            database,
            log: Head {
                n: last.map_or(0, |last| last.n),
                hash: last.map_or(super::record::BEGINNING.into(), |last| last.hash),
            },
        }
    }

    /// Its text: canonical JSON.
    pub fn text(&self) -> String {
        canonical(&serde_json::to_value(self).unwrap_or_default())
    }

    /// Reads its text; `None` if it is something else.
    pub fn parse(text: &str) -> Option<Self> {
        let read: Self = serde_json::from_str(text).ok()?;
        (read.kind == TYPE).then_some(read)
    }

    /// What is wrong with a database that is compared with it: nothing if its event is there, or
    /// if a backup was restored since, which the audit log tells of.
    pub(super) fn differs(&self, story: &Story, now: Option<Digest>) -> bool {
        let since = story.restored.is_some_and(|n| n > self.log.n);
        self.database
            .is_some_and(|then| !since && now != Some(then.hash))
    }
}
