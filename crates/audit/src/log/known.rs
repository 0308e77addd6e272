//! The knowledge of the log kept beside it: what its records come to, and the range no report has yet.

use std::{fs::File, io, os::unix::fs::FileExt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::records::{ledger::AuditLogState, record::AuditRecord, unseen::UnconfirmedEvents};
use wf_base::{digest::Sha256Digest, time::Moment};

/// The number of last bytes of the log that identify it.
const END: u64 = 512;

/// The knowledge needed to append to the log: a fold of its records. It is kept beside the log, so an auditor
/// need not read the records of others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct AuditCursor {
    /// The length of the folded part of the log, in bytes.
    pub length: u64,
    /// The state the next record depends on.
    pub ledger: AuditLogState,
    /// The state the next report begins with.
    pub since: UnreportedRange,
}

impl AuditCursor {
    /// Adds a record written by another process.
    pub(crate) fn add(&mut self, record: &AuditRecord) {
        self.ledger.add(record);
        self.since.extend_span(record.entry.at);
    }

    /// Returns its text, which fits no other log.
    pub(crate) fn text(&self, log: &File) -> io::Result<String> {
        let json = serde_json::to_string(self)?;
        Ok(format!("{} {json}", self.integrity_digest(&json, log)?))
    }

    /// Parses its text; `None` if it is invalid, or fits another log.
    pub(crate) fn parse(text: &str, log: &File) -> Option<Self> {
        let (seal, json) = text.split_once(' ')?;
        let known: Self = serde_json::from_str(json).ok()?;
        let own = known.integrity_digest(json, log).ok()?;
        (seal == own.to_string()).then_some(known)
    }

    /// Returns a digest of its text and the end of the log. Fails if the log is shorter.
    fn integrity_digest(&self, json: &str, log: &File) -> io::Result<Sha256Digest> {
        let from = self.length.saturating_sub(END);
        let mut bytes = vec![0; usize::try_from(self.length - from).map_err(io::Error::other)?];
        log.read_exact_at(&mut bytes, from)?;
        bytes.extend_from_slice(json.as_bytes());
        Ok(Sha256Digest::of_bytes(&bytes))
    }
}

/// The part of the log since the last report, and its position.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct UnreportedRange {
    /// The offset of that report's line, in bytes, or that of an earlier line.
    pub from: u64,
    /// The state the records before that line leave to be judged.
    pub unseen: UnconfirmedEvents,
    /// The times of the first and the last record since; it may be too wide.
    span: Option<(Moment, Moment)>,
}

impl UnreportedRange {
    /// Starts at a report, or at the beginning of the readable part.
    pub(crate) fn new(from: u64, unconfirmed: UnconfirmedEvents) -> Self {
        let span = None;
        Self { from, unseen: unconfirmed, span }
    }

    /// Widens the span by the time of a record.
    pub(super) fn extend_span(&mut self, at: Moment) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    /// True if it may span the given activity.
    pub(crate) fn may_span(&self, length: Duration) -> bool {
        self.span.is_some_and(|(first, last)| last.since(first) >= length)
    }
}
