use std::collections::BTreeMap;

use super::record::{BEGINNING, Record, Source};
use super::words::{
    BEGUN, Begun, CLOSED, CONFIRMED, Confirmed, FOUND_DEAD, OPENED, RESTORED, REWOUND, Rewound,
    Session, Shift,
};
use serde::{Deserialize, Serialize};

use crate::bus::Bound;
use crate::digest::Digest;
use crate::time::Moment;

/// What whoever writes the log must know of it: a fold of its records, or of the last of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Ledger {
    /// The number of the last record.
    pub n: u64,
    /// Its hash.
    pub hash: Digest,
    /// When what it tells happened.
    pub at: Moment,
    /// The last event of the database that is recorded.
    pub seq: u64,
    /// Who watches.
    pub open: Vec<Session>,
    /// The boot of the machine under which somebody began or ended to watch last.
    pub boot: Option<String>,
    /// Events that were read in the database, and that nobody said to have heard of.
    pub unconfirmed: BTreeMap<u64, Digest>,
}

impl Default for Ledger {
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

impl Ledger {
    /// Takes a record into account.
    pub(super) fn add(&mut self, record: &Record) {
        self.n = record.n;
        self.hash = record.hash;
        self.at = record.entry.at;
        if let Some(db) = record.entry.db {
            self.event(db, record.entry.source);
        }
        let entry = &record.entry;
        match entry.kind.as_str() {
            BEGUN => {
                let begun: Option<Begun> = entry.read();
                self.seq = begun.and_then(|begun| begun.end).map_or(0, |end| end.seq);
            }
            OPENED | CLOSED | FOUND_DEAD => {
                if let Some(shift) = entry.read::<Shift>() {
                    self.open = shift.open;
                    self.seq = shift.seq;
                    self.boot = Some(shift.boot);
                    if self.open.is_empty() {
                        // Whoever could have said so has ended.
                        self.unconfirmed.clear();
                    }
                }
            }
            RESTORED => {
                if let Some(end) = restored(entry) {
                    self.seq = end.seq;
                    self.unconfirmed.clear();
                }
            }
            REWOUND => {
                if let Some(rewound) = entry.read::<Rewound>() {
                    self.seq = rewound.to;
                    self.unconfirmed.clear();
                }
            }
            CONFIRMED => {
                let confirmed: Option<Confirmed> = entry.read();
                for seq in confirmed.iter().flat_map(|confirmed| &confirmed.seqs) {
                    self.unconfirmed.remove(seq);
                }
            }
            _ => {}
        }
    }

    fn event(&mut self, db: Bound, source: Source) {
        self.seq = db.seq;
        if source == Source::Database {
            self.unconfirmed.insert(db.seq, db.hash);
        }
    }
}

/// Where the log of a restored state ends.
pub(super) fn restored(entry: &super::record::Entry) -> Option<Bound> {
    serde_json::from_value(entry.about.get("end")?.clone()).ok()
}
