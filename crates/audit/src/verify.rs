use std::io;
use std::path::Path;

use super::chain::AuditChainVerifier;
use super::checkpoint::Checkpoint;
use super::fill::only_unpublished;
use super::found::{AuditFindings, AuditNote, TamperEvidence};
use super::ledger::restored;
use super::log::FOLDER;
use super::mark;
use super::read::{self, AuditLogLines};
use super::record::AuditRecord;
use super::stats::UnconfirmedEvents;
use super::words::{
    DATABASE_ROLLED_BACK, DatabaseRolledBackBody, LOG_CREATED, LOG_TRUNCATED, LogCreatedBody,
    LogTruncatedBody, PARTIAL_RECORD, STATE_RESTORED,
};
use wf_base::digest::Sha256Digest;
use wf_base::time::Moment;
use wf_store::feed::LogAnchor;
use wf_store::{LogPosition, StoreError, StoreReader, examine, verify_chain};

/// The number of positions of the database read at once.
const PLACES: usize = 10_000;

/// Returns the number of the last event of a database; 0: there is none that can be read.
fn last_event(state: &Path) -> u64 {
    let end = StoreReader::open(state).and_then(|reader| reader.log_end());
    end.ok().flatten().map_or(0, |end| end.seq)
}

/// The database as the audit log describes it.
#[derive(Debug, Default)]
pub(super) struct AuditedDatabase {
    /// The last event of the database before the audit log was read.
    events_before: u64,
    /// The hashes of the events after the base, as the auditor saw them.
    hashes: Vec<Option<Sha256Digest>>,
    base: Option<LogAnchor>,
    last_record: Option<AuditRecord>,
    unconfirmed: UnconfirmedEvents,
    faults: Vec<TamperEvidence>,
    notes: Vec<AuditNote>,
    /// The events that the records skip.
    omitted_events: Vec<u64>,
    /// The record of the last restored backup.
    pub restored: Option<u64>,
    /// The records with a hash known from elsewhere: the number, the hash, and true if they agree.
    known_records: Vec<(u64, Sha256Digest, bool)>,
    broken: bool,
}

/// Verifies the database's log, the audit log, and each against the other and against a checkpoint.
/// Fails only if something cannot be read.
///
/// Runs may go on meanwhile, and an event is in the database before it is in the audit log. So the audit log must reach
/// as far as the database did before the audit log was read, and the database as far as the audit log did then.
pub fn verify(
    state: &Path,
    checkpoint: Option<&Checkpoint>,
    now: Moment,
) -> Result<AuditFindings, StoreError> {
    let failed = |error| StoreError::io("read", &read::path(state), &error);
    let dir = state.join(FOLDER);
    mark::check_regular_file(&dir).map_err(failed)?;
    let mark = mark::read(&dir);
    let mut story = AuditedDatabase { events_before: last_event(state), ..AuditedDatabase::default() };
    let pinned = checkpoint.map(|checkpoint| (checkpoint.log.n, checkpoint.log.hash));
    let marked = mark.as_ref().map(|mark| (mark.n, mark.hash));
    story.known_records.extend(pinned.iter().chain(&marked).map(|(n, hash)| (*n, *hash, *n == 0)));
    story.read(state).map_err(failed)?;
    if let Some(mark) = &mark {
        story.check_mark(mark);
    }
    let end = story.check_database(state)?;
    if let Some(checkpoint) = checkpoint {
        let reader = StoreReader::open(state).ok();
        story.check_checkpoint(checkpoint, reader.as_ref())?;
    } else if let Some(base) = story.base {
        story.faults.push(TamperEvidence::BeganLate(base.seq));
    }
    let bound = end.map(|end| LogAnchor { seq: end.seq, hash: end.hash });
    Ok(AuditFindings {
        events: end.map_or(0, |end| end.seq),
        records: story.last_record.as_ref().map_or(0, |last| last.n),
        heads: Checkpoint::new(now, bound, story.last_record.as_ref()),
        faults: story.faults,
        notes: story.notes,
    })
}

impl AuditedDatabase {
    fn read(&mut self, state: &Path) -> io::Result<()> {
        let Some(mut lines) = AuditLogLines::open(&read::path(state), 0)? else {
            return Ok(());
        };
        let mut chain = AuditChainVerifier::default();
        while let Some(line) = lines.next_line()? {
            if let Some(record) = chain.line(&line) {
                self.record(record);
            }
        }
        if lines.torn {
            self.notes.push(AuditNote::HalfLine);
        }
        let faults = chain.end();
        self.broken = !faults.is_empty();
        // The events of missing records are reported already.
        let left_out = std::mem::take(&mut self.omitted_events).into_iter();
        let left_out = left_out.filter(|_| !self.broken).map(TamperEvidence::LeftOut);
        self.faults.extend(left_out);
        self.faults.splice(0..0, faults.into_iter().map(TamperEvidence::Log));
        Ok(())
    }

    /// Returns the last event of the database in the audit log.
    fn end(&self) -> u64 {
        self.base.map_or(0, |base| base.seq) + self.hashes.len() as u64
    }

    fn roll_back_to(&mut self, seq: u64) {
        let base = self.base.map_or(0, |base| base.seq);
        let kept = usize::try_from(seq.saturating_sub(base)).unwrap_or(usize::MAX);
        self.hashes.truncate(kept);
    }

    /// Returns the hash of an event, if known.
    fn hash(&self, seq: u64) -> Option<Sha256Digest> {
        let base = self.base.map_or(0, |base| base.seq);
        if let Some(end) = self.base.filter(|base| base.seq == seq) {
            return Some(end.hash);
        }
        let at = usize::try_from(seq.checked_sub(base + 1)?).ok()?;
        self.hashes.get(at).copied().flatten()
    }

    fn record(&mut self, record: AuditRecord) {
        for (n, hash, found) in &mut self.known_records {
            *found |= *n == record.n && *hash == record.hash;
        }
        self.unconfirmed.add(&record);
        if let Some(db) = record.entry.db {
            self.event(db);
        }
        let (n, entry) = (record.n, &record.entry);
        match entry.kind.as_str() {
            LOG_CREATED => self.base = entry.read::<LogCreatedBody>().and_then(|begun| begun.end),
            STATE_RESTORED => {
                if let Some(end) = restored(entry) {
                    self.restore(&record, end);
                }
            }
            DATABASE_ROLLED_BACK => {
                if let Some(DatabaseRolledBackBody { from, to }) = entry.read() {
                    let what = (from, to);
                    self.faults.push(TamperEvidence::Rewound { n, what });
                    self.roll_back_to(to);
                }
            }
            LOG_TRUNCATED => match entry.read() {
                Some(LogTruncatedBody { rebooted: true, .. }) => self.notes.push(AuditNote::PowerLost(n)),
                Some(LogTruncatedBody { had, has, .. }) => {
                    self.faults.push(TamperEvidence::LogCut { had, has });
                }
                None => {}
            },
            PARTIAL_RECORD => self.notes.push(AuditNote::Torn(n)),
            _ => {}
        }
        self.last_record = Some(record);
    }

    fn event(&mut self, db: LogAnchor) {
        let next = self.end() + 1;
        if db.seq < next {
            self.roll_back_to(db.seq.saturating_sub(1));
        }
        // Bounded: a number that is far too large is not a gap of this log.
        for seq in next..db.seq.min(next + (1 << 20)) {
            if seq == next {
                self.omitted_events.push(seq);
            }
            self.hashes.push(None);
        }
        self.hashes.push(Some(db.hash));
    }

    fn restore(&mut self, record: &AuditRecord, end: LogAnchor) {
        let from = self.end();
        let known = self.hash(end.seq);
        if known.is_some_and(|known| known != end.hash) || end.seq > from {
            self.faults.push(TamperEvidence::OtherBackup(record.n));
        }
        self.notes.push(AuditNote::Restored { at: record.entry.at, from, to: end.seq });
        self.roll_back_to(end.seq);
        self.restored = Some(record.n);
    }

    fn is_known_record(&self, n: u64, hash: Sha256Digest) -> bool {
        let same = |known: &&(u64, Sha256Digest, bool)| (known.0, known.1) == (n, hash);
        self.known_records.iter().find(same).is_some_and(|known| known.2)
    }

    fn check_mark(&mut self, mark: &mark::AuditLogMark) {
        let has = self.last_record.as_ref().map_or(0, |last| last.n);
        if let Some(cut) = mark.detect_truncation(has) {
            if self.last_record.is_some() {
                let had = cut.had;
                self.faults.push(TamperEvidence::LogCut { had, has });
            }
        } else if !self.broken && !self.is_known_record(mark.n, mark.hash) {
            self.faults.push(TamperEvidence::LogReplaced(mark.n));
        }
    }

    fn check_database(&mut self, state: &Path) -> Result<Option<LogPosition>, StoreError> {
        let reader = match StoreReader::open(state) {
            Ok(reader) => reader,
            Err(StoreError::NoState(_)) => {
                self.check_rolled_back(0, self.end());
                return Ok(None);
            }
            Err(StoreError::Lost { kept, known, .. }) => {
                self.faults.push(TamperEvidence::Lost { kept, known });
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        match verify_chain(&reader) {
            Ok(Ok(_)) => self.check_other_state(&reader)?,
            Ok(Err(broken)) => self.faults.push(TamperEvidence::Database(broken)),
            Err(StoreError::Lost { kept, known, .. }) => {
                self.faults.push(TamperEvidence::Lost { kept, known });
            }
            Err(error) => return Err(error),
        }
        let end = reader.log_end()?;
        self.compare(&reader, end.map_or(0, |end| end.seq))?;
        Ok(end)
    }

    fn check_other_state(&mut self, reader: &StoreReader) -> Result<(), StoreError> {
        let faults = examine(reader)?.into_iter();
        self.faults.extend(faults.map(TamperEvidence::State));
        Ok(())
    }

    fn check_rolled_back(&mut self, has: u64, saw: u64) {
        if has < saw {
            self.faults.push(TamperEvidence::RolledBack { has, saw });
        }
    }

    fn compare(&mut self, reader: &StoreReader, events: u64) -> Result<(), StoreError> {
        if self.last_record.is_none() {
            if events > 0 {
                self.faults.push(TamperEvidence::NoLog(events));
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
                    self.faults.push(TamperEvidence::Rewritten(place.seq));
                    break 'all;
                }
            }
            if places.len() < PLACES {
                break;
            }
        }
        self.check_rolled_back(events, has);
        if self.events_before > has {
            if self.unconfirmed.active_auditors().is_empty() && !only_unpublished(reader, has)? {
                self.faults.push(TamperEvidence::LogOlder { has, events });
            } else {
                self.notes.push(AuditNote::Pending(events.saturating_sub(has)));
            }
        }
        let behind = self.unconfirmed.unexplained_events(None);
        if !behind.is_empty() {
            self.faults.push(TamperEvidence::Behind(behind));
        }
        if self.unconfirmed.pending_count() > 0 {
            self.notes.push(AuditNote::Unconfirmed(self.unconfirmed.pending_count()));
        }
        Ok(())
    }

    fn check_checkpoint(
        &mut self,
        checkpoint: &Checkpoint,
        reader: Option<&StoreReader>,
    ) -> Result<(), StoreError> {
        let holds = self.is_known_record(checkpoint.log.n, checkpoint.log.hash);
        if !holds {
            self.faults.push(TamperEvidence::LogNotOfCheckpoint(checkpoint.log.n));
        }
        if let Some(base) = self.base {
            if holds && checkpoint.log.n > 0 {
                self.notes.push(AuditNote::VouchedFor(base.seq));
            } else {
                self.faults.push(TamperEvidence::BeganLate(base.seq));
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
        if checkpoint.contradicts(self, now.map(|now| now.hash)) {
            self.faults.push(TamperEvidence::DatabaseNotOfCheckpoint(then.seq));
        }
        Ok(())
    }
}
