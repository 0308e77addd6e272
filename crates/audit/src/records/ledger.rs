use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::records::{
    record::{AuditEntry, AuditRecord, AuditSource, BEGINNING},
    unseen::UnconfirmedEvents,
    words::{
        AUDITOR_DIED, AUDITOR_STARTED, AUDITOR_STOPPED, AuditorLifecycleBody, AuditorSession,
        DATABASE_ROLLED_BACK, DatabaseRolledBackBody, EVENTS_CONFIRMED, EventsConfirmedBody, LOG_CREATED,
        LogCreatedBody, SEGMENT_STARTED, SEGMENTS_PRUNED, STATE_RESTORED, UNPUBLISHED,
    },
};
use wf_base::{digest::Sha256Digest, time::Moment};
use wf_store::feed::LogAnchor;

/// The state needed to write the log: a fold of its records, or of the last of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AuditLogState {
    /// The number of the last record.
    pub n: u64,
    pub hash: Sha256Digest,
    /// The time of the last record.
    pub at: Moment,
    /// The last recorded event of the database.
    pub seq: u64,
    /// The auditors watching.
    pub open: Vec<AuditorSession>,
    /// The boot of the machine when an auditor last began or ended watching.
    pub boot: Option<String>,
    /// The events read from the database no auditor has confirmed.
    pub unconfirmed: BTreeMap<u64, Sha256Digest>,
}

impl Default for AuditLogState {
    fn default() -> Self {
        Self {
            n: 0,
            hash: BEGINNING.into(),
            at: Moment::default(),
            seq: 0,
            open: Vec::new(),
            boot: None,
            unconfirmed: BTreeMap::new(),
        }
    }
}

impl AuditLogState {
    pub(crate) fn add(&mut self, record: &AuditRecord) {
        self.n = record.n;
        self.hash = record.hash;
        self.at = record.entry.at;
        if let Some(db) = record.entry.db {
            let entry = &record.entry;
            let is_heard =
                entry.source != AuditSource::Database || UNPUBLISHED.contains(&entry.kind.as_str());
            self.event(db, is_heard);
        }
        let entry = &record.entry;
        match entry.kind.as_str() {
            LOG_CREATED => {
                let body: Option<LogCreatedBody> = entry.read();
                self.seq = body.and_then(|begun| begun.end).map_or(0, |end| end.seq);
            }
            AUDITOR_STARTED | AUDITOR_STOPPED | AUDITOR_DIED => {
                if let Some(shift) = entry.read::<AuditorLifecycleBody>() {
                    self.open = shift.open;
                    self.seq = shift.seq;
                    self.boot = Some(shift.boot);
                    if self.open.is_empty() {
                        // The auditors that could have confirmed them have ended.
                        self.unconfirmed.clear();
                    }
                }
            }
            SEGMENT_STARTED => {
                if let Some(head) = SegmentHead::of(entry) {
                    let (n, hash, at) = (self.n, self.hash, self.at);
                    *self = Self { n, hash, at, ..head.ledger };
                }
            }
            STATE_RESTORED => {
                if let Some(end) = restored(entry) {
                    self.seq = end.seq;
                    self.unconfirmed.clear();
                }
            }
            DATABASE_ROLLED_BACK => {
                if let Some(rewound) = entry.read::<DatabaseRolledBackBody>() {
                    self.seq = rewound.to;
                    self.unconfirmed.clear();
                }
            }
            EVENTS_CONFIRMED => {
                let confirmed: Option<EventsConfirmedBody> = entry.read();
                for seq in confirmed.iter().flat_map(|confirmed| &confirmed.seqs) {
                    self.unconfirmed.remove(seq);
                }
            }
            _ => {}
        }
    }

    fn event(&mut self, anchor: LogAnchor, is_heard: bool) {
        self.seq = anchor.seq;
        if !is_heard {
            self.unconfirmed.insert(anchor.seq, anchor.hash);
        }
    }
}

/// Returns the end of a restored state's log.
pub(crate) fn restored(entry: &crate::records::record::AuditEntry) -> Option<LogAnchor> {
    serde_json::from_value(entry.about.get("end")?.clone()).ok()
}

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
