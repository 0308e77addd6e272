use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::records::record::{AuditRecord, AuditSource, BEGINNING};
use crate::records::segment_head::SegmentHead;
use crate::records::words::{
    AUDITOR_DIED, AUDITOR_STARTED, AUDITOR_STOPPED, AuditorLifecycleBody, AuditorSession,
    DATABASE_ROLLED_BACK, DatabaseRolledBackBody, EVENTS_CONFIRMED, EventsConfirmedBody, LOG_CREATED,
    LogCreatedBody, SEGMENT_STARTED, STATE_RESTORED, UNPUBLISHED,
};
use wf_base::digest::Sha256Digest;
use wf_base::time::Moment;
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
