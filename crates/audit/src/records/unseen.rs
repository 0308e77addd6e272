use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::records::{
    ledger::SegmentHead,
    record::{AuditRecord, AuditSource},
    words::{
        AUDITOR_DIED, AUDITOR_STARTED, AUDITOR_STOPPED, AuditorLifecycleBody, DatabaseReadBody,
        EVENTS_CONFIRMED, EventsConfirmedBody, MESSAGES_DROPPED, MessagesDroppedBody, SEGMENT_STARTED,
        UNPUBLISHED,
    },
};

/// The events that no auditor heard of on the bus, and the auditors that may still confirm them.
///
/// An event read from the database is explained if an auditor that watched at the time died, lost messages,
/// or confirms later it heard of it. If all of them ended regularly and confirmed nothing, the event came
/// into the database behind their backs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnconfirmedEvents {
    open: BTreeSet<u64>,
    boot: Option<String>,
    /// The auditors before which the machine was rebooted, or that lost messages.
    excused: BTreeSet<u64>,
    /// The records of events, by event, that an auditor may still confirm.
    waiting: BTreeMap<u64, DatabaseReadRecord>,
    behind: BTreeSet<u64>,
}

/// The record of an event read from the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct DatabaseReadRecord {
    /// The number of the record.
    n: u64,
    /// The auditor that cannot have heard of it: the event was there before that one started.
    but: Option<u64>,
}

impl DatabaseReadRecord {
    /// True if an auditor that has watched since could have heard of it.
    fn may_be_heard_by(self, auditor: u64) -> bool {
        auditor < self.n && self.but != Some(auditor)
    }
}

impl UnconfirmedEvents {
    pub fn add(&mut self, record: &AuditRecord) {
        let entry = &record.entry;
        if let (Some(db), AuditSource::Database) = (entry.db, entry.source)
            && !UNPUBLISHED.contains(&entry.kind.as_str())
        {
            self.read(record.n, db.seq, entry.read());
        }
        match entry.kind.as_str() {
            AUDITOR_STARTED | AUDITOR_STOPPED | AUDITOR_DIED => {
                if let Some(shift) = entry.read::<AuditorLifecycleBody>() {
                    self.add_lifecycle_record(&entry.kind, &shift);
                }
            }
            SEGMENT_STARTED => {
                if let Some(head) = SegmentHead::of(entry) {
                    let behind = std::mem::take(&mut self.behind);
                    *self = Self { behind, ..head.unseen };
                }
            }
            EVENTS_CONFIRMED => {
                let confirmed: Option<EventsConfirmedBody> = entry.read();
                for seq in confirmed.iter().flat_map(|confirmed| &confirmed.seqs) {
                    self.waiting.remove(seq);
                    self.behind.remove(seq);
                }
            }
            MESSAGES_DROPPED => {
                if let Some(lost) = entry.read::<MessagesDroppedBody>() {
                    self.excused.insert(lost.auditor);
                    self.excuse_auditor(lost.auditor);
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, n: u64, seq: u64, read: Option<DatabaseReadBody>) {
        let but = read.filter(|read| read.late).map(|read| read.by);
        if but.is_some_and(|by| self.excused.contains(&by)) {
            return;
        }
        let reading = DatabaseReadRecord { n, but };
        let mut could = self.open.iter().filter(|one| reading.may_be_heard_by(**one)).peekable();
        if could.peek().is_none() {
            self.behind.insert(seq);
        } else if !could.any(|one| self.excused.contains(one)) {
            self.waiting.insert(seq, reading);
        }
    }

    fn add_lifecycle_record(&mut self, kind: &str, lifecycle: &AuditorLifecycleBody) {
        match kind {
            AUDITOR_STARTED => {
                if self.boot.as_ref().is_some_and(|boot| *boot != lifecycle.boot) {
                    self.excused.insert(lifecycle.auditor);
                }
                self.boot = Some(lifecycle.boot.clone());
            }
            AUDITOR_DIED => self.excuse_auditor(lifecycle.auditor),
            _ if lifecycle.lost > 0 => self.excuse_auditor(lifecycle.auditor),
            _ => self.clear_auditor(lifecycle.auditor),
        }
        self.open = lifecycle.open.iter().map(|session| session.n).collect();
    }

    /// Explains the events an auditor could have heard of and cannot confirm.
    fn excuse_auditor(&mut self, auditor: u64) {
        self.waiting.retain(|_, reading| !reading.may_be_heard_by(auditor));
    }

    /// Clears an auditor that could have heard of events and did not.
    fn clear_auditor(&mut self, auditor: u64) {
        let (open, behind) = (&self.open, &mut self.behind);
        // Auditors are checked in order, so the first of the others settles most.
        let others = || open.iter().filter(|one| **one != auditor);
        self.waiting.retain(|seq, reading| {
            let waits =
                !reading.may_be_heard_by(auditor) || others().any(|one| reading.may_be_heard_by(*one));
            if !waits {
                behind.insert(*seq);
            }
            waits
        });
        self.excused.remove(&auditor);
    }

    /// Returns the events that came into the database behind the backs of all auditors; `ending` is
    /// one that has heard everything it will.
    pub fn unexplained_events(&self, ending: Option<u64>) -> Vec<u64> {
        let mut all = self.clone();
        if let Some(ending) = ending {
            all.clear_auditor(ending);
        }
        all.behind.into_iter().collect()
    }

    /// Returns the number of events an auditor may still confirm.
    pub fn pending_count(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the auditors watching: the numbers of the records by which they opened.
    pub fn active_auditors(&self) -> &BTreeSet<u64> {
        &self.open
    }
}

impl UnconfirmedEvents {
    /// Forgets the reported events, and keeps the state needed to judge later ones.
    #[must_use]
    pub(crate) fn without_reported(mut self) -> Self {
        self.behind.clear();
        self
    }
}
