//! The end of the log, read backwards as far as is needed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::record::Record;
use super::words::{CLOSED, FOUND_DEAD, OPENED, REPORT};
use crate::digest::Digest;

/// How much is read first, in bytes.
const FIRST: u64 = 16 * 1024;

/// The last records of a log.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tail {
    /// The records, in order: at least those since the last report, and since somebody last began
    /// or ended to watch. Lines that are no records are left out.
    pub records: Vec<Record>,
    /// Where the first of them may begin, in bytes.
    pub from: u64,
    /// How long the log is up to the end of its last whole line, in bytes.
    pub length: u64,
    /// What stands behind the last end of a line.
    pub torn: Option<Torn>,
}

/// A last line without an end.
#[derive(Debug, PartialEq)]
pub(super) enum Torn {
    /// It is a whole record all the same.
    Whole {
        /// Which.
        record: Box<Record>,
        /// How long it is.
        bytes: u64,
    },
    /// It is half a one.
    Half {
        /// How long it is.
        bytes: u64,
        /// Its digest.
        digest: Digest,
    },
}

/// Reads the end of a log.
pub(super) fn read(file: &File) -> io::Result<Tail> {
    let length = file.metadata()?.len();
    let mut size = FIRST;
    loop {
        let from = length.saturating_sub(size);
        let text = bytes(file, from, length)?;
        // The first line may be cut off at its beginning.
        let start = if from == 0 {
            0
        } else {
            text.iter()
                .position(|b| *b == b'\n')
                .map_or(text.len(), |at| at + 1)
        };
        let tail = split(text.get(start..).unwrap_or_default(), from + start as u64);
        if from == 0 || is_enough(&tail.records) {
            return Ok(tail);
        }
        size = size.saturating_mul(4);
    }
}

/// What stands from one place, where a line begins, to another.
pub(super) fn lines(file: &File, from: u64, to: u64) -> io::Result<Tail> {
    Ok(split(&bytes(file, from, to)?, from))
}

fn bytes(file: &File, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(to.saturating_sub(from)).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, from)?;
    Ok(bytes)
}

fn split(text: &[u8], from: u64) -> Tail {
    let end = text
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |at| at + 1);
    let (whole, rest) = text.split_at(end);
    let whole = String::from_utf8_lossy(whole);
    let records = whole.lines().filter_map(|line| Record::parse(line).ok());
    let bytes = rest.len() as u64;
    let torn = || match str::from_utf8(rest)
        .ok()
        .and_then(|line| Record::parse(line).ok())
    {
        Some(record) => Torn::Whole {
            record: Box::new(record),
            bytes,
        },
        None => Torn::Half {
            bytes,
            digest: Digest::of(rest),
        },
    };
    Tail {
        records: records.collect(),
        from,
        length: from + end as u64,
        torn: (!rest.is_empty()).then(torn),
    }
}

/// Whether a report and the word of somebody who began or ended to watch are among them.
fn is_enough(records: &[Record]) -> bool {
    let has = |kinds: &[&str]| {
        records
            .iter()
            .any(|record| kinds.contains(&record.entry.kind.as_str()))
    };
    has(&[REPORT]) && has(&[OPENED, CLOSED, FOUND_DEAD])
}
