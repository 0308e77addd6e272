use std::path::Path;

use crate::{
    log::{audit_log::FOLDER, mark, read, read::AuditLogLines},
    records::{chain::LogFault, ledger::SegmentsPrunedBody, summary::only_unpublished},
    verification::{
        audited::AuditedDatabase,
        checkpoint::{AuditHead, Checkpoint},
        found::{AuditFindings, AuditNote, TamperEvidence},
    },
};
use wf_base::time::Moment;
use wf_store::{LogPosition, StoreError, StoreReader, examine_after, verify_chain_after};

/// The number of positions of the database read at once.
const PLACES: usize = 10_000;

/// Returns the number of the last event of a database; 0: there is none that can be read.
fn last_event(state: &Path) -> u64 {
    let end = StoreReader::open(state).and_then(|reader| reader.log().end());
    end.ok().flatten().map_or(0, |end| end.seq)
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
    let (mut story, end) = AuditedDatabase::examine(state, checkpoint, None)?;
    let reader = StoreReader::open(state).ok();
    story.check_beginning(reader.as_ref())?;
    if let Some(checkpoint) = checkpoint {
        story.check_checkpoint(checkpoint, reader.as_ref())?;
    } else if let Some(seq) = story.began_late {
        story.evidence.push(TamperEvidence::BeganLate(seq));
    }
    Ok(story.findings(end, now))
}

/// Verifies the part of the logs behind a checkpoint of an earlier verification: every event of the database behind it, the
/// tables of the runs that have one, and the file of the audit log the checkpoint is in, with those following.
///
/// `None` where the logs do not continue the checkpoint, or anything is wrong: that is for a verification of everything to say.
pub fn verify_since(
    state: &Path,
    checkpoint: &Checkpoint,
    now: Moment,
) -> Result<Option<AuditFindings>, StoreError> {
    let (story, end) = AuditedDatabase::examine(state, Some(checkpoint), Some(checkpoint))?;
    let continues = story.is_known_record(checkpoint.log.n, checkpoint.log.hash);
    let continues = continues && !story.is_before(checkpoint.log.n);
    if !continues || story.began_late.is_some() || !story.evidence.is_empty() {
        return Ok(None);
    }
    Ok(Some(AuditFindings { since_checkpoint: Some(checkpoint.clone()), ..story.findings(end, now) }))
}

impl AuditedDatabase {
    /// Reads the audit log, and verifies the database by it: all of it, or from a checkpoint on; returns the last event, too.
    /// The records of the checkpoint to compare with, and of the mark, are looked for.
    fn examine(
        state: &Path,
        checkpoint: Option<&Checkpoint>,
        since_checkpoint: Option<&Checkpoint>,
    ) -> Result<(Self, Option<LogPosition>), StoreError> {
        let failed = |error| StoreError::io("read", &read::path(state), &error);
        let dir = state.join(FOLDER);
        mark::check_regular_file(&dir).map_err(failed)?;
        let mark = mark::read(&dir);
        let mut story = Self { events_before: last_event(state), ..Self::default() };
        let pinned = checkpoint.map(|checkpoint| (checkpoint.log.n, checkpoint.log.hash));
        let marked = mark.as_ref().map(|mark| (mark.n, mark.hash));
        story.known_records.extend(pinned.iter().chain(&marked).map(|(n, hash)| (*n, *hash, *n == 0)));
        let path = read::path(state);
        let lines = match since_checkpoint {
            None => AuditLogLines::open(&path, 0),
            Some(since) => AuditLogLines::open_at_record(&path, since.log.n),
        };
        if let Some(lines) = lines.map_err(failed)? {
            story.read(lines).map_err(failed)?;
        }
        if let Some(mark) = &mark {
            story.check_mark(mark);
        }
        let end = story.check_database(state, since_checkpoint.and_then(Checkpoint::event))?;
        Ok((story, end))
    }

    /// Returns the findings of a verification ending now.
    fn findings(self, end_position: Option<LogPosition>, now: Moment) -> AuditFindings {
        AuditFindings {
            events: end_position.map_or(0, |end| end.seq),
            records: self.last_record.as_ref().map_or(0, |last| last.n),
            checkpoint: Checkpoint::new(now, end_position, AuditHead::of(self.last_record.as_ref())),
            evidence: self.evidence,
            notes: self.notes,
            since_checkpoint: None,
        }
    }

    fn check_mark(&mut self, mark: &mark::AuditLogMark) {
        let has = self.last_record.as_ref().map_or(0, |last| last.n);
        if let Some(cut) = mark.detect_truncation(has) {
            if self.last_record.is_some() {
                let had = cut.had;
                self.evidence.push(TamperEvidence::LogCut { had, has });
            }
        } else if !self.broken && !self.is_before(mark.n) && !self.is_known_record(mark.n, mark.hash) {
            self.evidence.push(TamperEvidence::LogReplaced(mark.n));
        }
    }

    /// True if a record lies before the first one read.
    fn is_before(&self, n: u64) -> bool {
        self.beginning.is_some_and(|(first, _)| n < first)
    }

    /// Tells a pruned beginning of the audit log from one that was cut off: the log says what was pruned, and the database
    /// has no run from that time.
    fn check_beginning(&mut self, reader: Option<&StoreReader>) -> Result<(), StoreError> {
        let Some((first, hash)) = self.beginning.filter(|(first, _)| *first > 1) else {
            return Ok(());
        };
        let to = first - 1;
        // A process that died while it pruned has left some of the files.
        let is_it = |pruned: &SegmentsPrunedBody| pruned.to > to || pruned.to == to && pruned.hash == hash;
        let Some((n, _)) = self.pruned.iter().find(|(_, pruned)| is_it(pruned)) else {
            self.evidence.insert(0, TamperEvidence::Log(LogFault::Dropped { from: 1, to }));
            return Ok(());
        };
        // A backup brings runs back from the time that is gone.
        let is_restored = self.restored.is_some_and(|restored| restored > *n);
        self.notes.push(AuditNote::Pruned(to));
        if is_restored {
            return Ok(());
        }
        let kept = reader.map(|reader| reader.log().first_kept_run()).transpose()?.flatten();
        let base = self.base_anchor.map_or(0, |base| base.seq);
        if let Some(run) = kept.filter(|run| *run <= base) {
            self.evidence.push(TamperEvidence::PrunedTooFar { to, run });
        }
        Ok(())
    }

    fn check_database(
        &mut self,
        state: &Path,
        verified_position: Option<LogPosition>,
    ) -> Result<Option<LogPosition>, StoreError> {
        let reader = match StoreReader::open(state) {
            Ok(reader) => reader,
            Err(StoreError::NoState(_)) => {
                self.check_rolled_back(0, self.end());
                return Ok(None);
            }
            Err(StoreError::Lost { kept, known, .. }) => {
                self.evidence.push(TamperEvidence::Lost { kept, known });
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        // Events may be added meanwhile, which the next verification is about.
        let end = reader.log().end()?;
        match verify_chain_after(&reader, verified_position) {
            Ok(Ok(_)) => {
                let faults = examine_after(&reader, verified_position.map_or(0, |event| event.seq))?;
                self.evidence.extend(faults.into_iter().map(TamperEvidence::State));
            }
            Ok(Err(broken)) => self.evidence.push(TamperEvidence::Database(broken)),
            Err(StoreError::Lost { kept, known, .. }) => {
                self.evidence.push(TamperEvidence::Lost { kept, known });
            }
            Err(error) => return Err(error),
        }
        self.compare(&reader, reader.log().end()?.map_or(0, |end| end.seq))?;
        Ok(end)
    }

    fn check_rolled_back(&mut self, has: u64, saw: u64) {
        if has < saw {
            self.evidence.push(TamperEvidence::RolledBack { has, saw });
        }
    }

    fn compare(&mut self, reader: &StoreReader, events: u64) -> Result<(), StoreError> {
        if self.last_record.is_none() {
            // A first run may have begun since the log was looked for.
            if self.events_before > 0 {
                self.evidence.push(TamperEvidence::NoLog(events));
            }
            return Ok(());
        }
        let (has, base) = (self.end(), self.base_anchor.map_or(0, |base| base.seq));
        let mut after = base.saturating_sub(1);
        'all: loop {
            let places = reader.log().positions(after, PLACES)?;
            for place in &places {
                after = place.seq;
                if self.hash(place.seq).is_some_and(|hash| hash != place.hash) {
                    self.evidence.push(TamperEvidence::Rewritten(place.seq));
                    break 'all;
                }
            }
            if places.len() < PLACES {
                break;
            }
        }
        self.check_rolled_back(events, has);
        if self.events_before > has {
            if self.fold.unconfirmed.active_auditors().is_empty() && !only_unpublished(reader, has)? {
                self.evidence.push(TamperEvidence::LogOlder { has, events });
            } else {
                self.notes.push(AuditNote::Pending(events.saturating_sub(has)));
            }
        }
        let behind = self.fold.unconfirmed.unexplained_events(None);
        if !behind.is_empty() {
            self.evidence.push(TamperEvidence::Behind(behind));
        }
        if self.fold.unconfirmed.pending_count() > 0 {
            self.notes.push(AuditNote::Unconfirmed(self.fold.unconfirmed.pending_count()));
        }
        Ok(())
    }

    fn check_checkpoint(
        &mut self,
        checkpoint: &Checkpoint,
        reader: Option<&StoreReader>,
    ) -> Result<(), StoreError> {
        let holds = self.is_known_record(checkpoint.log.n, checkpoint.log.hash);
        if self.is_before(checkpoint.log.n) {
            self.notes.push(AuditNote::CheckpointPruned(checkpoint.log.n));
        } else if !holds {
            self.evidence.push(TamperEvidence::LogNotOfCheckpoint(checkpoint.log.n));
        }
        if let Some(seq) = self.began_late {
            if holds && checkpoint.log.n > 0 {
                self.notes.push(AuditNote::VouchedFor(seq));
            } else {
                self.evidence.push(TamperEvidence::BeganLate(seq));
            }
        }
        let Some(then) = checkpoint.database else {
            return Ok(());
        };
        let now = match reader {
            Some(reader) => reader.log().positions(then.seq.saturating_sub(1), 1)?,
            None => Vec::new(),
        };
        let now = now.first().filter(|now| now.seq == then.seq);
        if checkpoint.contradicts(self, now.map(|now| now.hash)) {
            self.evidence.push(TamperEvidence::DatabaseNotOfCheckpoint(then.seq));
        }
        Ok(())
    }
}
