//! The kinds of the auditor's own records, and their content.

use serde::{Deserialize, Serialize};

use wf_store::{ProcessIdentity, feed::LogAnchor};

/// The first record: the state of the database before any auditor watched.
pub(crate) const LOG_CREATED: &str = "begun";
/// An auditor started watching.
pub(crate) const AUDITOR_STARTED: &str = "opened";
/// An auditor has ended, and has written everything it heard.
pub(crate) const AUDITOR_STOPPED: &str = "closed";
pub(crate) const AUDITOR_DIED: &str = "found_dead";
/// An auditor was too slow for the bus.
pub(crate) const MESSAGES_DROPPED: &str = "lost";
/// Events read from the database were also heard of on the bus.
pub(crate) const EVENTS_CONFIRMED: &str = "confirmed";
/// The database went back: recorded events are not there any more.
pub(crate) const DATABASE_ROLLED_BACK: &str = "rewound";
/// The end of this log was gone.
pub(crate) const LOG_TRUNCATED: &str = "cut";
/// The last line was incomplete: a process died, or the disk was full, while it was written.
pub(crate) const PARTIAL_RECORD: &str = "torn";
/// Rows about goals, memory or connections were recorded.
pub(super) const ROWS_RECORDED: &str = "rows_recorded";
/// The text of forgotten records was erased from events.
pub(super) const ROWS_ERASED: &str = "rows_erased";
/// A state of an earlier version was brought up to date.
pub(super) const STATE_MIGRATED: &str = "state_migrated";
/// An approval was used for a connection.
pub(super) const CONNECTION_APPROVED: &str = "connection_approved";
/// A result was stored for reuse.
pub(super) const RESULT_CACHED: &str = "result_cached";
/// The stored files of runs were removed.
pub(super) const ARTIFACTS_PRUNED: &str = "artifacts_pruned";
/// The events no bus has: an auditor reads them in the database.
pub(super) const UNPUBLISHED: [&str; 6] =
    [ROWS_RECORDED, ROWS_ERASED, STATE_MIGRATED, CONNECTION_APPROVED, RESULT_CACHED, ARTIFACTS_PRUNED];
/// A new file of the log begins: what the records before it come to.
pub(crate) const SEGMENT_STARTED: &str = "segment_started";
/// The oldest files of the log were pruned.
pub(crate) const SEGMENTS_PRUNED: &str = "segments_pruned";
/// The state was replaced with a backup.
pub(crate) const STATE_RESTORED: &str = "restored";
/// A report on a window.
pub(crate) const REPORT: &str = "report";

/// The content of [`LOG_CREATED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogCreatedBody {
    /// The last event that was there; absent: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<LogAnchor>,
}

/// A watching auditor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AuditorSession {
    /// The number of the record by which it opened.
    pub n: u64,
    pub process: ProcessIdentity,
}

/// The content of [`AUDITOR_STARTED`], [`AUDITOR_STOPPED`] and [`AUDITOR_DIED`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AuditorLifecycleBody {
    /// The auditor: the number of the record by which it opened.
    pub auditor: u64,
    /// The auditors watching from now on.
    pub open: Vec<AuditorSession>,
    /// The last event of the database in this log.
    pub seq: u64,
    /// The boot of the machine.
    pub boot: String,
    /// The number of messages it lost, when it closes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
}

/// The part for an event read from the database, beside its own summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DatabaseReadBody {
    /// The reading auditor: the number of the record by which it opened.
    pub by: u64,
    /// True if the event was there before that auditor heard anything.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
}

/// The content of [`EVENTS_CONFIRMED`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EventsConfirmedBody {
    /// The numbers of the events in the database.
    pub seqs: Vec<u64>,
}

/// The content of [`MESSAGES_DROPPED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MessagesDroppedBody {
    /// The auditor: the number of the record by which it opened.
    pub auditor: u64,
    pub messages: u64,
}

/// The content of [`DATABASE_ROLLED_BACK`]: the last recorded event, and the last one still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DatabaseRolledBackBody {
    /// The last recorded event.
    pub from: u64,
    /// The last event still there.
    pub to: u64,
}

/// The content of [`LOG_TRUNCATED`]: the number of records before, and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogTruncatedBody {
    /// The number of records written.
    pub had: u64,
    /// The number of records there.
    pub has: u64,
    /// True if the machine was rebooted in between: a loss of power can cause this.
    pub rebooted: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}
