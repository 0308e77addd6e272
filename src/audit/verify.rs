use std::io;
use std::path::Path;

use super::chain::{Chain, LogFault};
use super::checkpoint::Checkpoint;
use super::ledger::restored;
use super::mark;
use super::read::{self, Lines};
use super::record::Record;
use super::stats::Unseen;
use super::words::{BEGUN, Begun, CUT, Cut, RESTORED, REWOUND, Rewound, TORN};
use crate::bus::Bound;
use crate::digest::Digest;
use crate::store::{BrokenChain, LogPlace, Reader, StoreError, verify_chain};
use crate::time::Moment;

/// How many places of the database are read at once.
const PLACES: usize = 10_000;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// How many events the database has.
    pub events: u64,
    /// How many records the audit log has.
    pub records: u64,
    /// What was tampered with.
    pub faults: Vec<Fault>,
    /// What is not as usual, and explained.
    pub notes: Vec<Note>,
    /// The heads of both logs.
    pub heads: Checkpoint,
}

/// What was tampered with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The chain of the database's log is broken.
    #[error("{0} in the database")]
    Database(BrokenChain),
    /// The database has lost events from its end.
    #[error("the database has lost events: it holds {kept}, and {known} were recorded")]
    Lost {
        /// How many there are.
        kept: u64,
        /// How many there were.
        known: u64,
    },
    /// The chain of the audit log is broken.
    #[error("{0}")]
    Log(LogFault),
    /// There is no audit log.
    #[error("there is no audit log, and the database has {0} events")]
    NoLog(u64),
    /// The audit log began when there were events already.
    #[error("the audit log begins with event {} of the database: nobody watched before", .0 + 1)]
    BeganLate(u64),
    /// The end of the audit log is gone.
    #[error("the end of the audit log was cut off: it holds {has} records, and {had} were written")]
    LogCut {
        /// How many there were.
        had: u64,
        /// How many there are.
        has: u64,
    },
    /// The audit log is another than the one that was written.
    #[error("record {0} of the audit log is not the one that was written: the log was replaced")]
    LogReplaced(u64),
    /// An event is not in the audit log.
    #[error("event {0} of the database was left out of the audit log")]
    LeftOut(u64),
    /// The database goes on where the audit log ends.
    #[error(
        "the audit log ends at event {has}, and nobody died; the database goes on to {events}: an older copy of the audit log was put in its place, or its end was cut off"
    )]
    LogOlder {
        /// The last event of the audit log.
        has: u64,
        /// The last one of the database.
        events: u64,
    },
    /// The database ends before the audit log does.
    #[error(
        "the database ends at event {has}, and the auditor saw {saw}: an older copy was put in its place"
    )]
    RolledBack {
        /// The last event of the database.
        has: u64,
        /// The last one that the auditor saw.
        saw: u64,
    },
    /// The database went back, and went on from there.
    #[error(
        "the database went back from event {} to {} (record {n} of the audit log): an older copy was put in its place",
        .what.0, .what.1
    )]
    Rewound {
        /// The record that tells of it.
        n: u64,
        /// From which event to which.
        what: (u64, u64),
    },
    /// An event is another than the auditor saw.
    #[error(
        "event {0} of the database is not the one that the auditor saw: the history was rewritten from there"
    )]
    Rewritten(u64),
    /// Events came into the database without an engine.
    #[error("{} came into the database behind the auditor's back", listed(.0))]
    Behind(Vec<u64>),
    /// A backup is of another history.
    #[error("the backup that was restored (record {0} of the audit log) is of another history")]
    OtherBackup(u64),
    /// The audit log is not the one of the checkpoint.
    #[error(
        "the audit log is not the one of the checkpoint, which has record {0}: it was replaced, or put back to before that"
    )]
    LogNotOfCheckpoint(u64),
    /// The database is not the one of the checkpoint.
    #[error(
        "the database is not the one of the checkpoint, which has event {0}: it was replaced, or put back to before that"
    )]
    DatabaseNotOfCheckpoint(u64),
}

/// What is not as usual, and explained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Note {
    /// A backup was restored.
    #[error("restored at {at} from a backup: the database went back to event {to} of {from}")]
    Restored {
        /// When.
        at: Moment,
        /// The last event before.
        from: u64,
        /// The last event of the backup.
        to: u64,
    },
    /// Half a line was taken away.
    #[error(
        "record {0} of the audit log tells of half a line that was taken away: a process died while it wrote"
    )]
    Torn(u64),
    /// The last line is half a line.
    #[error(
        "the last line of the audit log is half a line: a process died while it wrote; the next command takes it away"
    )]
    HalfLine,
    /// The machine went down before the end of the audit log was on the disk.
    #[error(
        "the machine was started anew before the end of the audit log was on the disk; what was missing was read in the database (record {0})"
    )]
    PowerLost(u64),
    /// Some events are not in the audit log yet.
    #[error(
        "{0} events of the database are not in the audit log yet: a process works, or died; the next command adds them"
    )]
    Pending(u64),
    /// Some events were read in the database, and somebody may still say that it heard of them.
    #[error("{0} events were read in the database before those who work there told of them")]
    Unconfirmed(usize),
    /// A checkpoint vouches for what nobody watched.
    #[error("nobody watched before event {}; the checkpoint vouches for it", .0 + 1)]
    VouchedFor(u64),
}

impl Fault {
    /// Whether a checkpoint that is made now speaks of everything that is left of it: nobody
    /// watched the beginning, and from now on it cannot be changed.
    pub fn is_pinned_by_a_checkpoint(&self) -> bool {
        matches!(self, Self::BeganLate(_))
    }
}

fn listed(events: &[u64]) -> String {
    match events {
        [] => "no event".into(),
        [one] => format!("event {one}"),
        [first, .., last] => format!("{} events ({first} to {last})", events.len()),
    }
}

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
    torn: bool,
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
    let mark = read::path(state).parent().and_then(mark::read);
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
        self.torn = lines.torn;
        if self.torn {
            self.notes.push(Note::HalfLine);
        }
        let faults = chain.end();
        self.broken = !faults.is_empty();
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
            if seq == next && !self.broken {
                self.faults.push(Fault::LeftOut(seq));
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
            Ok(Ok(_)) => {}
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
