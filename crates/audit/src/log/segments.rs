//! The files of the log: segments closed, oldest first, and the one written.
//!
//! A closed segment is `log-N.jsonl`, where N is the number of its first record; `log.jsonl` is the one written. Each but the
//! first of all begins with a record `segment_started` that has what its writer and a verification must know of the records
//! before. So a segment can be read without those before it, which may be pruned.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take},
    path::{Path, PathBuf},
};

use crate::records::{ledger::SegmentHead, record::AuditRecord};
use wf_store::own_file;

/// A file of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The number of its first record.
    pub first: u64,
    pub path: PathBuf,
    /// The length in bytes.
    pub length: u64,
}

pub(super) fn closed_path(dir: &Path, first: u64) -> PathBuf {
    dir.join(format!("log-{first:012}.jsonl"))
}

/// Lists the closed segments of a folder, oldest first. One beginning as the written one does is left out: a process
/// died while it closed that.
pub(super) fn list_closed(dir: &Path, written: u64) -> io::Result<Vec<Segment>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(first) = name.to_str().and_then(first_of_name) else { continue };
        let path = entry.path();
        own_file(&path)?;
        if first < written || written == 0 {
            found.push(Segment { first, path, length: entry.metadata()?.len() });
        }
    }
    found.sort_by_key(|segment| segment.first);
    Ok(found)
}

/// Reads the number in the name of a closed segment.
fn first_of_name(name: &str) -> Option<u64> {
    name.strip_prefix("log-")?.strip_suffix(".jsonl")?.parse().ok()
}

/// Reads the first record of a file of the log, unverified; `None` if there is none.
pub(crate) fn first_record(path: &Path) -> io::Result<Option<AuditRecord>> {
    let mut line = Vec::new();
    BufReader::new(File::open(path)?).read_until(b'\n', &mut line)?;
    Ok(AuditRecord::parse_unverified(&line))
}

/// Returns the length of the log before a record, as the first one of a file.
pub(super) fn bytes_before(first_record: Option<&AuditRecord>) -> u64 {
    first_record.and_then(|record| SegmentHead::of(&record.entry)).map_or(0, |head| head.bytes)
}

/// The bytes of several files, one after the other. Each but the last is opened when it is read.
#[derive(Debug)]
pub(crate) struct SegmentReader {
    ahead: VecDeque<(PathBuf, u64)>,
    now: Take<File>,
    last: Option<Take<File>>,
}

impl SegmentReader {
    /// Starts at an offset of the first of the closed segments; the written one is open.
    pub(crate) fn new(
        closed_segments: Vec<Segment>,
        written: File,
        length: u64,
        from: u64,
    ) -> io::Result<Self> {
        let mut ahead: VecDeque<_> = closed_segments.into_iter().map(|one| (one.path, one.length)).collect();
        let mut last = Some(written.take(length));
        let mut now = match ahead.pop_front() {
            Some((path, length)) => File::open(path)?.take(length),
            None => last.take().ok_or_else(|| io::Error::other("no segment"))?,
        };
        now.get_mut().seek(SeekFrom::Start(from))?;
        now.set_limit(now.limit().saturating_sub(from));
        Ok(Self { ahead, now, last })
    }
}

impl Read for SegmentReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.now.read(bytes)?;
            if read > 0 || bytes.is_empty() {
                return Ok(read);
            }
            let next = match self.ahead.pop_front() {
                Some((path, length)) => Some(File::open(path)?.take(length)),
                None => self.last.take(),
            };
            let Some(next) = next else { return Ok(0) };
            self.now = next;
        }
    }
}
