use std::collections::{BTreeMap, BTreeSet};

use crate::audit::record::{Record, Source};
use crate::audit::words::{
    CLOSED, CONFIRMED, Confirmed, FOUND_DEAD, LOST, Lost, OPENED, Read, Shift,
};

/// Which events nobody heard of on the bus, and who could still have.
///
/// An event that was read in the database is explained if an auditor that watched at the time
/// died, lost messages, or says later that it heard of it. If all of them ended well and said
/// nothing, the event came into the database behind their backs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    open: BTreeSet<u64>,
    boot: Option<String>,
    /// Auditors before which the machine was started anew, or that lost messages.
    excused: BTreeSet<u64>,
    /// By the event: who could have heard of it.
    waiting: BTreeMap<u64, BTreeSet<u64>>,
    behind: BTreeSet<u64>,
}

impl Unseen {
    /// Takes a record into account.
    pub fn add(&mut self, record: &Record) {
        let entry = &record.entry;
        if let (Some(db), Source::Database) = (entry.db, entry.source) {
            self.read(db.seq, entry.read());
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

    fn read(&mut self, seq: u64, read: Option<Read>) {
        let by = read.map(|read| read.by);
        let late = read.is_some_and(|read| read.late);
        if by.is_some_and(|by| late && self.excused.contains(&by)) {
            return;
        }
        let mut could = self.open.clone();
        if late {
            // It was there before this one heard anything.
            could.retain(|one| Some(*one) != by);
        }
        if could.is_empty() {
            self.behind.insert(seq);
        } else if !could.iter().any(|one| self.excused.contains(one)) {
            self.waiting.insert(seq, could);
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
        self.waiting.retain(|_, could| !could.contains(&auditor));
    }

    /// One who could have heard of them did not.
    fn cleared(&mut self, auditor: u64) {
        let behind = &mut self.behind;
        self.waiting.retain(|seq, could| {
            could.remove(&auditor);
            if could.is_empty() {
                behind.insert(*seq);
            }
            !could.is_empty()
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
