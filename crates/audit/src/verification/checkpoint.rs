use serde::{Deserialize, Serialize};

use crate::{
    records::record::{AuditRecord, BEGINNING},
    verification::audited::AuditedDatabase,
};
use wf_base::{digest::Sha256Digest, time::Moment};
use wf_sign::canonical;
use wf_store::{LogPosition, feed::LogAnchor};

/// The type in a checkpoint's own text.
pub const TYPE: &str = "urn:wf:audit:checkpoint:v1";

/// The type of a signed checkpoint's payload.
pub const PAYLOAD: &str = "application/vnd.wf.audit-checkpoint+json";

/// The heads of both logs at an instant. Kept in git, for example, it proves later whether the
/// history up to there is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The type.
    #[serde(rename = "_type")]
    pub kind: String,
    /// The time at which it was made.
    pub at: Moment,
    /// The last event of the database; absent: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<LogAnchor>,
    /// The last record of the audit log.
    pub log: AuditHead,
}

/// The last record of the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AuditHead {
    /// Its number; 0: there was none.
    pub n: u64,
    /// Its hash.
    pub hash: Sha256Digest,
}

impl AuditHead {
    /// Returns the head of a log ending with a record; `None`: it has none.
    pub(crate) fn of(last_record: Option<&AuditRecord>) -> Self {
        last_record.map_or_else(Self::default, |last| Self { n: last.n, hash: last.hash })
    }
}

impl Default for AuditHead {
    fn default() -> Self {
        Self { n: 0, hash: BEGINNING.into() }
    }
}

impl Checkpoint {
    /// Makes a checkpoint of logs that were just verified.
    pub fn new(at: Moment, database: Option<LogPosition>, audit_head: AuditHead) -> Self {
        let database = database.map(|event| LogAnchor { seq: event.seq, hash: event.hash });
        Self { kind: TYPE.into(), at, database, log: audit_head }
    }

    /// Returns the last event of the database.
    pub fn event(&self) -> Option<LogPosition> {
        self.database.map(|event| LogPosition { seq: event.seq, hash: event.hash })
    }

    /// Returns the text: canonical JSON.
    pub fn text(&self) -> String {
        canonical(&serde_json::to_value(self).unwrap_or_default())
    }

    /// Parses the text; `None` if it is not a checkpoint.
    pub fn parse(text: &str) -> Option<Self> {
        let read: Self = serde_json::from_str(text).ok()?;
        (read.kind == TYPE).then_some(read)
    }

    /// True if a database differs from it: false if the event is there, or if a backup was restored
    /// since, which the audit log records.
    pub(super) fn contradicts(&self, database: &AuditedDatabase, now: Option<Sha256Digest>) -> bool {
        let since = database.restored.is_some_and(|n| n > self.log.n);
        self.database.is_some_and(|then| !since && now != Some(then.hash))
    }
}
