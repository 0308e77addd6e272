//! The database as the records of the audit log describe it.

use std::{collections::BTreeMap, io};

use crate::{
    log::{read::AuditLogLines, rotate::SegmentFold},
    records::{
        chain::AuditChainVerifier,
        ledger::{SegmentHead, SegmentsPrunedBody, restored},
        record::AuditRecord,
        words::{
            DATABASE_ROLLED_BACK, DatabaseRolledBackBody, LOG_CREATED, LOG_TRUNCATED, LogCreatedBody,
            LogTruncatedBody, PARTIAL_RECORD, SEGMENTS_PRUNED, STATE_RESTORED,
        },
    },
    verification::found::{AuditNote, TamperEvidence},
};
use wf_base::digest::Sha256Digest;
use wf_store::feed::LogAnchor;

/// The database as the audit log describes it.
#[derive(Debug, Default)]
pub(crate) struct AuditedDatabase {
    /// The last event of the database before the audit log was read.
    pub(crate) events_before: u64,
    /// The hashes of the events after the base, as the auditor saw them.
    pub(crate) hashes: Vec<Option<Sha256Digest>>,
    pub(crate) base_anchor: Option<LogAnchor>,
    /// The last event before the log was created, if there were any.
    pub(crate) began_late: Option<u64>,
    /// The number and the previous hash of the first record, where that is the head of a segment.
    pub(crate) beginning: Option<(u64, Sha256Digest)>,
    /// The records of prunings, by their numbers.
    pub(crate) pruned: BTreeMap<u64, SegmentsPrunedBody>,
    pub(crate) last_record: Option<AuditRecord>,
    /// The fold of the records.
    pub(crate) fold: SegmentFold,
    /// The length of the log up to the last record, in bytes.
    pub(crate) bytes: u64,
    pub(crate) evidence: Vec<TamperEvidence>,
    pub(crate) notes: Vec<AuditNote>,
    /// The events the records skip.
    pub(crate) omitted_events: Vec<u64>,
    /// The record of the last restored backup.
    pub(crate) restored: Option<u64>,
    /// The records with a hash known from elsewhere: the number, the hash, and true if they agree.
    pub(crate) known_records: Vec<(u64, Sha256Digest, bool)>,
    pub(crate) broken: bool,
}

impl AuditedDatabase {
    pub(crate) fn read(&mut self, mut lines: AuditLogLines) -> io::Result<()> {
        let mut chain = None;
        while let Some(line) = lines.next_line()? {
            let chain = chain.get_or_insert_with(|| self.start(&line));
            let Some(record) = chain.line(&line) else { continue };
            if chain.is_whole() && !self.continues(&record) {
                self.evidence.push(TamperEvidence::OtherSegment(record.n));
            }
            self.bytes += line.len() as u64 + 1;
            self.record(record);
        }
        let chain = chain.unwrap_or_default();
        if lines.torn {
            self.notes.push(AuditNote::HalfLine);
        }
        let faults = chain.end();
        self.broken = !faults.is_empty();
        // The events of missing records are reported already.
        let left_out = std::mem::take(&mut self.omitted_events).into_iter();
        let left_out = left_out.filter(|_| !self.broken).map(TamperEvidence::LeftOut);
        self.evidence.extend(left_out);
        self.evidence.splice(0..0, faults.into_iter().map(TamperEvidence::Log));
        Ok(())
    }

    /// Starts at the first line: the records before the head of a segment are not read.
    fn start(&mut self, line: &str) -> AuditChainVerifier {
        let Ok(record) = AuditRecord::parse(line) else { return AuditChainVerifier::default() };
        // The first record of all is no head of a segment, whoever says so.
        let head = SegmentHead::of(&record.entry).filter(|_| record.n > 1);
        let Some(head) = head else { return AuditChainVerifier::default() };
        (self.base_anchor, self.bytes) = (head.end, head.bytes);
        self.beginning = Some((record.n, record.prev));
        AuditChainVerifier::after(record.n - 1, record.prev)
    }

    /// True if a record is no head of a segment, or has what the records before it come to.
    fn continues(&self, record: &AuditRecord) -> bool {
        // The first record of all continues none.
        let is_first = self.last_record.is_none() && record.n > 1;
        let head = SegmentHead::of(&record.entry).filter(|_| !is_first);
        head.is_none_or(|head| self.fold.head(self.bytes).as_ref() == Some(&head))
    }

    /// Returns the last event of the database in the audit log.
    pub(crate) fn end(&self) -> u64 {
        self.base_anchor.map_or(0, |base| base.seq) + self.hashes.len() as u64
    }

    fn roll_back_to(&mut self, seq: u64) {
        let base = self.base_anchor.map_or(0, |base| base.seq);
        let kept = usize::try_from(seq.saturating_sub(base)).unwrap_or(usize::MAX);
        self.hashes.truncate(kept);
    }

    /// Returns the hash of an event, if known.
    pub(crate) fn hash(&self, seq: u64) -> Option<Sha256Digest> {
        let base = self.base_anchor.map_or(0, |base| base.seq);
        if let Some(end) = self.base_anchor.filter(|base| base.seq == seq) {
            return Some(end.hash);
        }
        let at = usize::try_from(seq.checked_sub(base + 1)?).ok()?;
        self.hashes.get(at).copied().flatten()
    }

    fn record(&mut self, record: AuditRecord) {
        for (n, hash, found) in &mut self.known_records {
            *found |= *n == record.n && *hash == record.hash;
        }
        self.fold.add(&record);
        if let Some(db) = record.entry.db {
            self.event(db);
        }
        let (n, entry) = (record.n, &record.entry);
        match entry.kind.as_str() {
            LOG_CREATED => {
                self.base_anchor = entry.read::<LogCreatedBody>().and_then(|begun| begun.end);
                self.began_late = self.base_anchor.map(|base| base.seq);
            }
            SEGMENTS_PRUNED => self.pruned.extend(SegmentsPrunedBody::of(entry).map(|body| (n, body))),
            STATE_RESTORED => {
                if let Some(end) = restored(entry) {
                    self.restore(&record, end);
                }
            }
            DATABASE_ROLLED_BACK => {
                if let Some(DatabaseRolledBackBody { from, to }) = entry.read() {
                    let what = (from, to);
                    self.evidence.push(TamperEvidence::Rewound { n, what });
                    self.roll_back_to(to);
                }
            }
            LOG_TRUNCATED => match entry.read() {
                Some(LogTruncatedBody { rebooted: true, .. }) => self.notes.push(AuditNote::PowerLost(n)),
                Some(LogTruncatedBody { had, has, .. }) => {
                    self.evidence.push(TamperEvidence::LogCut { had, has });
                }
                None => {}
            },
            PARTIAL_RECORD => self.notes.push(AuditNote::Torn(n)),
            _ => {}
        }
        self.last_record = Some(record);
    }

    fn event(&mut self, anchor: LogAnchor) {
        let next = self.end() + 1;
        if anchor.seq < next {
            self.roll_back_to(anchor.seq.saturating_sub(1));
        }
        // Bounded: a number that is far too large is not a gap of this log.
        for seq in next..anchor.seq.min(next + (1 << 20)) {
            if seq == next {
                self.omitted_events.push(seq);
            }
            self.hashes.push(None);
        }
        self.hashes.push(Some(anchor.hash));
    }

    fn restore(&mut self, record: &AuditRecord, end_anchor: LogAnchor) {
        let from = self.end();
        let known = self.hash(end_anchor.seq);
        if known.is_some_and(|known| known != end_anchor.hash) || end_anchor.seq > from {
            self.evidence.push(TamperEvidence::OtherBackup(record.n));
        }
        self.notes.push(AuditNote::Restored { at: record.entry.at, from, to: end_anchor.seq });
        self.roll_back_to(end_anchor.seq);
        if self.base_anchor.is_some_and(|base| end_anchor.seq < base.seq) {
            self.base_anchor = Some(end_anchor);
        }
        self.restored = Some(record.n);
    }

    pub(super) fn is_known_record(&self, n: u64, hash: Sha256Digest) -> bool {
        let same = |known: &&(u64, Sha256Digest, bool)| (known.0, known.1) == (n, hash);
        self.known_records.iter().find(same).is_some_and(|known| known.2)
    }
}
