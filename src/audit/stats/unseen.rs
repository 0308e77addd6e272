use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::audit::record::{Record, Source};
use crate::audit::words::{
    CLOSED, CONFIRMED, Confirmed, FOUND_DEAD, LOST, Lost, OPENED, Read, Shift,
};

/// Which events nobody heard of on the bus, and who could still have.
///
/// An event that was read in the database is explained if an auditor that watched at the time
/// died, lost messages, or says later that it heard of it. If all of them ended well and said
/// nothing, the event came into the database behind their backs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    open: BTreeSet<u64>,
    boot: Option<String>,
    /// Auditors before which the machine was started anew, or that lost messages.
    excused: BTreeSet<u64>,
    /// By the event: by whom it was read, while somebody may still say to have heard of it.
    waiting: BTreeMap<u64, Reading>,
    behind: BTreeSet<u64>,
}

/// A record of an event that was read in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Reading {
    /// Its number.
    n: u64,
    /// The auditor that cannot have heard of it: it was there before that one heard anything.
    but: Option<u64>,
}

impl Reading {
    /// Whether an auditor that has watched since could have heard of it.
    fn heard_by(self, auditor: u64) -> bool {
        auditor < self.n && self.but != Some(auditor)
    }
}

impl Unseen {
    /// Takes a record into account.
    pub fn add(&mut self, record: &Record) {
        let entry = &record.entry;
        if let (Some(db), Source::Database) = (entry.db, entry.source) {
            self.read(record.n, db.seq, entry.read());
        }
        match entry.kind.as_str() {
            OPENED | CLOSED | FOUND_DEAD => {
                if let Some(shift) = entry.read::<Shift>() {
                    self.shift(&entry.kind, &shift);
                }
            }
            CONFIRMED => {
                let confirmed: Option<Confirmed> = entry.read();
                for seq in confirmed.iter().flat_map(|confirmed| &confirmed.seqs) {
                    self.waiting.remove(seq);
                    self.behind.remove(seq);
                }
            }
            LOST => {
                if let Some(lost) = entry.read::<Lost>() {
                    self.excused.insert(lost.auditor);
                    self.explain(lost.auditor);
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, n: u64, seq: u64, read: Option<Read>) {
        let but = read.filter(|read| read.late).map(|read| read.by);
        if but.is_some_and(|by| self.excused.contains(&by)) {
            return;
        }
        let reading = Reading { n, but };
        let mut could = self
            .open
            .iter()
            .filter(|one| reading.heard_by(**one))
            .peekable();
        if could.peek().is_none() {
            self.behind.insert(seq);
        } else if !could.any(|one| self.excused.contains(one)) {
            self.waiting.insert(seq, reading);
        }
    }

    fn shift(&mut self, kind: &str, shift: &Shift) {
        match kind {
            OPENED => {
                if self.boot.as_ref().is_some_and(|boot| *boot != shift.boot) {
                    self.excused.insert(shift.auditor);
                }
                self.boot = Some(shift.boot.clone());
            }
            FOUND_DEAD => self.explain(shift.auditor),
            _ if shift.lost > 0 => self.explain(shift.auditor),
            _ => self.cleared(shift.auditor),
        }
        self.open = shift.open.iter().map(|session| session.n).collect();
    }

    /// One who could have heard of them cannot say so.
    fn explain(&mut self, auditor: u64) {
        self.waiting.retain(|_, reading| !reading.heard_by(auditor));
    }

    /// One who could have heard of them did not.
    fn cleared(&mut self, auditor: u64) {
        let (open, behind) = (&self.open, &mut self.behind);
        // Who watches is asked in order, so the first of the others tells for most.
        let others = || open.iter().filter(|one| **one != auditor);
        self.waiting.retain(|seq, reading| {
            let waits = !reading.heard_by(auditor) || others().any(|one| reading.heard_by(*one));
            if !waits {
                behind.insert(*seq);
            }
            waits
        });
        self.excused.remove(&auditor);
    }

    /// The events that came into the database behind the backs of all auditors; `ending` is one
    /// that has heard all that it will.
    pub fn behind(&self, ending: Option<u64>) -> Vec<u64> {
        let mut all = self.clone();
        if let Some(ending) = ending {
            all.cleared(ending);
        }
        all.behind.into_iter().collect()
    }

    /// How many events somebody may still say to have heard of.
    pub fn pending(&self) -> usize {
        self.waiting.len()
    }

    /// Who watches: the numbers of the records by which they opened.
    pub fn open(&self) -> &BTreeSet<u64> {
        &self.open
    }
}

impl Unseen {
    /// Forgets what was told, and keeps what is needed to judge what follows.
    #[must_use]
    pub(super) fn going_on(mut self) -> Self {
        self.behind.clear();
        self
    }
}
