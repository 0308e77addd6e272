use std::io;
use std::path::Path;

use super::chain::Chain;
use super::checkpoint::Checkpoint;
use super::found::{Fault, Found, Note};
use super::ledger::restored;
use super::log::FOLDER;
use super::mark;
use super::read::{self, Lines};
use super::record::Record;
use super::stats::Unseen;
use super::words::{BEGUN, Begun, CUT, Cut, RESTORED, REWOUND, Rewound, TORN};
use crate::bus::Bound;
use crate::digest::Digest;
use crate::store::{LogPlace, Reader, StoreError, examine, verify_chain};
use crate::time::Moment;

/// How many places of the database are read at once.
const PLACES: usize = 10_000;

/// What the audit log says of the database.
#[derive(Debug, Default)]
pub(super) struct Story {
    /// The hashes of the events behind the base, as the auditor saw them.
    hashes: Vec<Option<Digest>>,
    base: Option<Bound>,
    last: Option<Record>,
    unseen: Unseen,
    faults: Vec<Fault>,
    notes: Vec<Note>,
    /// Events that the records pass over.
    left_out: Vec<u64>,
    /// The record that tells of the last restored backup.
    pub restored: Option<u64>,
    /// Records that somebody knows the hash of: those numbers, and whether they agree.
    known: Vec<(u64, Digest, bool)>,
    broken: bool,
}

/// Verifies the database's log, the audit log, and each against the other and against a
/// checkpoint. Fails only where something cannot be read.
pub fn verify(
    state: &Path,
    checkpoint: Option<&Checkpoint>,
    now: Moment,
) -> Result<Found, StoreError> {
    let failed = |error| StoreError::io("read", &read::path(state), &error);
    let dir = state.join(FOLDER);
    mark::own(&dir).map_err(failed)?;
    let mark = mark::read(&dir);
    let mut story = Story::default();
    let pinned = checkpoint.map(|checkpoint| (checkpoint.log.n, checkpoint.log.hash));
    let marked = mark.as_ref().map(|mark| (mark.n, mark.hash));
    story.known.extend(
        pinned
            .iter()
            .chain(&marked)
            .map(|(n, hash)| (*n, *hash, *n == 0)),
    );
    story.read(state).map_err(failed)?;
    if let Some(mark) = &mark {
        story.against_mark(mark);
    }
    let end = story.against_database(state)?;
    if let Some(checkpoint) = checkpoint {
        let reader = Reader::open(state).ok();
        story.against_checkpoint(checkpoint, reader.as_ref())?;
    } else if let Some(base) = story.base {
        story.faults.push(Fault::BeganLate(base.seq));
    }
    let bound = end.map(|end| Bound {
        seq: end.seq,
        hash: end.hash,
    });
    Ok(Found {
        events: end.map_or(0, |end| end.seq),
        records: story.last.as_ref().map_or(0, |last| last.n),
        heads: Checkpoint::new(now, bound, story.last.as_ref()),
        faults: story.faults,
        notes: story.notes,
    })
}

impl Story {
    fn read(&mut self, state: &Path) -> io::Result<()> {
        let Some(mut lines) = Lines::open(&read::path(state), 0)? else {
            return Ok(());
        };
        let mut chain = Chain::default();
        while let Some(line) = lines.next_line()? {
            if let Some(record) = chain.line(&line) {
                self.record(record);
            }
        }
        if lines.torn {
            self.notes.push(Note::HalfLine);
        }
        let faults = chain.end();
        self.broken = !faults.is_empty();
        // What records are missing of is told already.
        let left_out = std::mem::take(&mut self.left_out).into_iter();
        let left_out = left_out.filter(|_| !self.broken).map(Fault::LeftOut);
        self.faults.extend(left_out);
        self.faults.splice(0..0, faults.into_iter().map(Fault::Log));
        Ok(())
    }

    /// The last event of the database that it knows of.
    fn end(&self) -> u64 {
        self.base.map_or(0, |base| base.seq) + self.hashes.len() as u64
    }

    fn back_to(&mut self, seq: u64) {
        let base = self.base.map_or(0, |base| base.seq);
        let kept = usize::try_from(seq.saturating_sub(base)).unwrap_or(usize::MAX);
        self.hashes.truncate(kept);
    }

    /// The hash of an event, where it is known.
    fn hash(&self, seq: u64) -> Option<Digest> {
        let base = self.base.map_or(0, |base| base.seq);
        if let Some(end) = self.base.filter(|base| base.seq == seq) {
            return Some(end.hash);
        }
        let at = usize::try_from(seq.checked_sub(base + 1)?).ok()?;
        self.hashes.get(at).copied().flatten()
    }

    fn record(&mut self, record: Record) {
        for (n, hash, found) in &mut self.known {
            *found |= *n == record.n && *hash == record.hash;
        }
        self.unseen.add(&record);
        if let Some(db) = record.entry.db {
            self.event(db);
        }
        let (n, entry) = (record.n, &record.entry);
        match entry.kind.as_str() {
            BEGUN => self.base = entry.read::<Begun>().and_then(|begun| begun.end),
            RESTORED => {
                if let Some(end) = restored(entry) {
                    self.restore(&record, end);
                }
            }
            REWOUND => {
                if let Some(Rewound { from, to }) = entry.read() {
                    let what = (from, to);
                    self.faults.push(Fault::Rewound { n, what });
                    self.back_to(to);
                }
            }
            CUT => match entry.read() {
                Some(Cut { rebooted: true, .. }) => self.notes.push(Note::PowerLost(n)),
                Some(Cut { had, has, .. }) => self.faults.push(Fault::LogCut { had, has }),
                None => {}
            },
            TORN => self.notes.push(Note::Torn(n)),
            _ => {}
        }
        self.last = Some(record);
    }

    fn event(&mut self, db: Bound) {
        let next = self.end() + 1;
        if db.seq < next {
            self.back_to(db.seq.saturating_sub(1));
        }
        // A gap that no limit holds for is no gap of this log.
        for seq in next..db.seq.min(next + (1 << 20)) {
            if seq == next {
                self.left_out.push(seq);
            }
            self.hashes.push(None);
        }
        self.hashes.push(Some(db.hash));
    }

    fn restore(&mut self, record: &Record, end: Bound) {
        let from = self.end();
        let known = self.hash(end.seq);
        if known.is_some_and(|known| known != end.hash) || end.seq > from {
            self.faults.push(Fault::OtherBackup(record.n));
        }
        self.notes.push(Note::Restored {
            at: record.entry.at,
            from,
            to: end.seq,
        });
        self.back_to(end.seq);
        self.restored = Some(record.n);
    }

    fn knows(&self, n: u64, hash: Digest) -> bool {
        let same = |known: &&(u64, Digest, bool)| (known.0, known.1) == (n, hash);
        self.known.iter().find(same).is_some_and(|known| known.2)
    }

    fn against_mark(&mut self, mark: &mark::Mark) {
        let has = self.last.as_ref().map_or(0, |last| last.n);
        if let Some(cut) = mark.cut(has) {
            if self.last.is_some() {
                let had = cut.had;
                self.faults.push(Fault::LogCut { had, has });
            }
        } else if !self.broken && !self.knows(mark.n, mark.hash) {
            self.faults.push(Fault::LogReplaced(mark.n));
        }
    }

    fn against_database(&mut self, state: &Path) -> Result<Option<LogPlace>, StoreError> {
        let reader = match Reader::open(state) {
            Ok(reader) => reader,
            Err(StoreError::NoState(_)) => {
                self.gone(0, self.end());
                return Ok(None);
            }
            Err(StoreError::Lost { kept, known, .. }) => {
                self.faults.push(Fault::Lost { kept, known });
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        match verify_chain(&reader) {
            Ok(Ok(_)) => self.beside(&reader)?,
            Ok(Err(broken)) => self.faults.push(Fault::Database(broken)),
            Err(StoreError::Lost { kept, known, .. }) => {
                self.faults.push(Fault::Lost { kept, known });
            }
            Err(error) => return Err(error),
        }
        let end = reader.end()?;
        self.compare(&reader, end.map_or(0, |end| end.seq))?;
        Ok(end)
    }

    fn beside(&mut self, reader: &Reader) -> Result<(), StoreError> {
        let faults = examine(reader)?.into_iter();
        self.faults.extend(faults.map(Fault::State));
        Ok(())
    }

    fn gone(&mut self, has: u64, saw: u64) {
        if has < saw {
            self.faults.push(Fault::RolledBack { has, saw });
        }
    }

    fn compare(&mut self, reader: &Reader, events: u64) -> Result<(), StoreError> {
        if self.last.is_none() {
            if events > 0 {
                self.faults.push(Fault::NoLog(events));
            }
            return Ok(());
        }
        let (has, base) = (self.end(), self.base.map_or(0, |base| base.seq));
        let mut after = base.saturating_sub(1);
        'all: loop {
            let places = reader.log_places(after, PLACES)?;
            for place in &places {
                after = place.seq;
                if self.hash(place.seq).is_some_and(|hash| hash != place.hash) {
                    self.faults.push(Fault::Rewritten(place.seq));
                    break 'all;
                }
            }
            if places.len() < PLACES {
                break;
            }
        }
        self.gone(events, has);
        if events > has {
            if self.unseen.open().is_empty() {
                self.faults.push(Fault::LogOlder { has, events });
            } else {
                self.notes.push(Note::Pending(events - has));
            }
        }
        let behind = self.unseen.behind(None);
        if !behind.is_empty() {
            self.faults.push(Fault::Behind(behind));
        }
        if self.unseen.pending() > 0 {
            self.notes.push(Note::Unconfirmed(self.unseen.pending()));
        }
        Ok(())
    }

    fn against_checkpoint(
        &mut self,
        checkpoint: &Checkpoint,
        reader: Option<&Reader>,
    ) -> Result<(), StoreError> {
        let holds = self.knows(checkpoint.log.n, checkpoint.log.hash);
        if !holds {
            self.faults
                .push(Fault::LogNotOfCheckpoint(checkpoint.log.n));
        }
        if let Some(base) = self.base {
            if holds && checkpoint.log.n > 0 {
                self.notes.push(Note::VouchedFor(base.seq));
            } else {
                self.faults.push(Fault::BeganLate(base.seq));
            }
        }
        let Some(then) = checkpoint.database else {
            return Ok(());
        };
        let now = match reader {
            Some(reader) => reader.log_places(then.seq.saturating_sub(1), 1)?,
            None => Vec::new(),
        };
        let now = now.first().filter(|now| now.seq == then.seq);
        if checkpoint.differs(self, now.map(|now| now.hash)) {
            self.faults.push(Fault::DatabaseNotOfCheckpoint(then.seq));
        }
        Ok(())
    }
}
