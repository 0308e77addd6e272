//! The records with which a file of the log begins, and by which some were pruned.

use serde::{Deserialize, Serialize};

use crate::records::ledger::AuditLogState;
use crate::records::record::AuditEntry;
use crate::records::unseen::UnconfirmedEvents;
use crate::records::words::{SEGMENT_STARTED, SEGMENTS_PRUNED};
use wf_base::digest::Sha256Digest;
use wf_store::feed::LogAnchor;

/// The content of [`SEGMENT_STARTED`]: what the records before it come to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SegmentHead {
    /// The length of the log before it, with what was pruned, in bytes.
    pub bytes: u64,
    /// The last event of the database in the log; absent: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<LogAnchor>,
    /// The state the next record depends on.
    pub ledger: AuditLogState,
    /// The events an auditor may still confirm.
    pub unseen: UnconfirmedEvents,
}

impl SegmentHead {
    /// Reads the head of a segment; `None` if the record is none.
    pub(crate) fn of(entry: &AuditEntry) -> Option<Self> {
        (entry.kind == SEGMENT_STARTED).then(|| entry.read()).flatten()
    }
}

/// The content of [`SEGMENTS_PRUNED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SegmentsPrunedBody {
    /// The number of the first record.
    pub from: u64,
    /// The number of the last record.
    pub to: u64,
    /// The hash of the last record.
    pub hash: Sha256Digest,
}

impl SegmentsPrunedBody {
    /// Reads the record of a pruning; `None` if the record is none.
    pub(crate) fn of(entry: &AuditEntry) -> Option<Self> {
        (entry.kind == SEGMENTS_PRUNED).then(|| entry.read()).flatten()
    }
}
