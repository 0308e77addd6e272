//! The end of the log, read backwards as far as is needed.

use std::{fs::File, io, os::unix::fs::FileExt};

use crate::records::{
    record::AuditRecord,
    words::{AUDITOR_DIED, AUDITOR_STARTED, AUDITOR_STOPPED, REPORT},
};
use wf_base::digest::Sha256Digest;

/// The number of bytes read first.
const FIRST: u64 = 16 * 1024;

/// The last records of a log.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct AuditLogTail {
    /// The records, in order: at least those since the last report, and since an auditor last began
    /// or ended watching. Invalid lines are left out.
    pub records: Vec<AuditRecord>,
    /// The offset at which the first of them may begin, in bytes.
    pub from: u64,
    /// The length of the log up to the end of its last complete line, in bytes.
    pub length: u64,
    /// The text behind the last line end.
    pub torn_line: Option<UnterminatedLine>,
}

/// A last line without an end.
#[derive(Debug, PartialEq)]
pub(crate) enum UnterminatedLine {
    /// A whole record without a line end.
    Whole {
        record: Box<AuditRecord>,
        /// The length in bytes.
        bytes: u64,
    },
    /// An incomplete record.
    Half {
        /// The length in bytes.
        bytes: u64,
        digest: Sha256Digest,
    },
}

/// Reads the end of a log.
pub(crate) fn read(file: &File) -> io::Result<AuditLogTail> {
    let length = file.metadata()?.len();
    let mut size = FIRST;
    loop {
        let from = length.saturating_sub(size);
        let text = bytes(file, from, length)?;
        // The first line may be cut off at its beginning.
        let start =
            if from == 0 { 0 } else { text.iter().position(|b| *b == b'\n').map_or(text.len(), |at| at + 1) };
        let tail = split(text.get(start..).unwrap_or_default(), from + start as u64);
        if from == 0 || is_sufficient(&tail.records) {
            return Ok(tail);
        }
        size = size.saturating_mul(4);
    }
}

/// Reads the lines between two offsets; the first one is the start of a line.
pub(crate) fn lines(file: &File, from: u64, to: u64) -> io::Result<AuditLogTail> {
    Ok(split(&bytes(file, from, to)?, from))
}

fn bytes(file: &File, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(to.saturating_sub(from)).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, from)?;
    Ok(bytes)
}

fn split(text: &[u8], from: u64) -> AuditLogTail {
    let end = text.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let (whole, rest) = text.split_at(end);
    let whole = String::from_utf8_lossy(whole);
    let records = whole.lines().filter_map(|line| AuditRecord::parse(line).ok());
    let bytes = rest.len() as u64;
    let torn = || match str::from_utf8(rest).ok().and_then(|line| AuditRecord::parse(line).ok()) {
        Some(record) => UnterminatedLine::Whole { record: Box::new(record), bytes },
        None => UnterminatedLine::Half { bytes, digest: Sha256Digest::of_bytes(rest) },
    };
    AuditLogTail {
        records: records.collect(),
        from,
        length: from + end as u64,
        torn_line: (!rest.is_empty()).then(torn),
    }
}

/// True if they include a report and the start or end of an auditor.
fn is_sufficient(records: &[AuditRecord]) -> bool {
    let has = |kinds: &[&str]| records.iter().any(|record| kinds.contains(&record.entry.kind.as_str()));
    has(&[REPORT]) && has(&[AUDITOR_STARTED, AUDITOR_STOPPED, AUDITOR_DIED])
}
