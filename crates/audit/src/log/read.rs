use std::{
    fs,
    fs::File,
    io,
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
    ops::Range,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::{
    log::{
        audit_log::{FOLDER, LOG},
        known::UnreportedRange,
        segments,
        segments::{Segment, SegmentReader},
    },
    records::record::AuditRecord,
    stats::ReportWindow,
};
use wf_store::own_file;

/// Returns the path of the log of a state folder: of the segment written.
pub fn path(state: &Path) -> PathBuf {
    state.join(FOLDER).join(LOG)
}

/// The lines of a log as of one instant, while others may add to it.
#[derive(Debug)]
pub struct AuditLogLines {
    text: BufReader<SegmentReader>,
    /// True if the last line is incomplete: a process died, or the disk was full, while it was
    /// written. It is not returned.
    pub torn: bool,
}

/// The files of a log as of one instant.
struct AuditLogFiles {
    segments: Vec<Segment>,
    written: File,
    /// The length of the written one.
    length: u64,
    /// The number of the first record of the written one.
    first: u64,
    /// The length of the pruned part, in bytes.
    pruned: u64,
}

impl AuditLogFiles {
    /// Opens a log; `None` if there is none.
    fn open(path: &Path) -> io::Result<Option<Self>> {
        own_file(path)?;
        let dir = path.parent().unwrap_or(path);
        loop {
            let written = match File::open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                opened => opened?,
            };
            // Writers hold the lock: the log is complete once it is ours.
            written.lock_shared()?;
            let found = written.metadata()?;
            if fs::metadata(path).is_ok_and(|named| (named.dev(), named.ino()) == (found.dev(), found.ino()))
            {
                let first = segments::first_record(path)?.map_or(0, |record| record.n);
                let segments = segments::list_closed(dir, first)?;
                let oldest = segments.first().map_or(path, |segment| &segment.path);
                let pruned = segments::bytes_before(segments::first_record(oldest)?.as_ref());
                written.unlock()?;
                return Ok(Some(Self { segments, written, length: found.len(), first, pruned }));
            }
        }
    }

    /// Returns the offsets of the log, from the pruned part on.
    fn range(&self) -> Range<u64> {
        let closed: u64 = self.segments.iter().map(|segment| segment.length).sum();
        self.pruned..self.pruned + closed + self.length
    }

    /// Returns the lines from an offset on.
    fn lines(mut self, from: u64) -> io::Result<AuditLogLines> {
        let mut before = from.saturating_sub(self.pruned);
        let passed = self.segments.iter().take_while(|segment| {
            let is_passed = segment.length <= before;
            before -= if is_passed { segment.length } else { 0 };
            is_passed
        });
        let passed = passed.count();
        let closed = self.segments.split_off(passed);
        let text = SegmentReader::new(closed, self.written, self.length, before)?;
        Ok(AuditLogLines { text: BufReader::new(text), torn: false })
    }
}

impl AuditLogLines {
    /// Opens a log; `None` if there is none. `from` is the offset of the first line to read, in
    /// bytes: offsets count from the beginning of the log, whatever was pruned of it.
    pub fn open(path: &Path, from: u64) -> io::Result<Option<Self>> {
        AuditLogFiles::open(path)?.map(|files| files.lines(from)).transpose()
    }

    /// Opens a log at the start of the segment a record is in.
    pub(crate) fn open_at_record(path: &Path, n: u64) -> io::Result<Option<Self>> {
        let Some(mut files) = AuditLogFiles::open(path)? else { return Ok(None) };
        let before = files.segments.iter().filter(|segment| segment.first <= n).count();
        let passed = if files.first <= n { files.segments.len() } else { before.saturating_sub(1) };
        files.segments.drain(..passed);
        files.pruned = 0;
        files.lines(0).map(Some)
    }

    /// Returns the next line, without its end. Bytes that are not UTF-8 are replaced.
    pub fn next_line(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        if self.text.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.pop() != Some(b'\n') {
            self.torn = true;
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&line).into_owned()))
    }
}

/// Lists the closed segments of a log, oldest first.
pub(crate) fn list_closed_segments(path: &Path) -> io::Result<Vec<Segment>> {
    Ok(AuditLogFiles::open(path)?.map(|files| files.segments).unwrap_or_default())
}

/// Returns the offsets of a log, in bytes: from the pruned part on. Empty if there is no log.
pub fn range(path: &Path) -> io::Result<Range<u64>> {
    Ok(AuditLogFiles::open(path)?.map_or(0..0, |files| files.range()))
}

/// The window of a log, filled on demand: records of other processes are read when a report is due.
/// Many processes write at once, and reports are few.
#[derive(Debug, Default)]
pub(crate) struct LazyReportWindow {
    window: ReportWindow,
    /// The offset up to which it is filled, in bytes of the log.
    filled: u64,
}

impl LazyReportWindow {
    /// Adds a record written between two offsets, if it has everything before it.
    pub(crate) fn written(&mut self, from: u64, to: u64, record: &AuditRecord) {
        if self.filled == from {
            self.window.add(record);
            self.filled = to;
        }
    }

    /// Returns the state before the next record, if it has everything before an offset.
    pub(crate) fn since(&self, from: u64, to: u64) -> Option<UnreportedRange> {
        let has = self.filled == to;
        has.then(|| UnreportedRange::new(from, self.window.unseen().clone()))
    }

    /// Returns the number of bytes of the log it would have to read.
    pub(crate) fn unread_bytes(&self, length: u64, unreported: &UnreportedRange) -> u64 {
        length.saturating_sub(self.start(length, unreported).unwrap_or(self.filled))
    }

    /// Fills the window up to the end of the log, and returns it. Lines are trusted here;
    /// [`verify`](crate::verification::verify::verify()) checks them.
    pub(crate) fn fill(
        &mut self,
        log: &File,
        length: u64,
        unreported: &UnreportedRange,
    ) -> io::Result<&ReportWindow> {
        if let Some(start) = self.start(length, unreported) {
            self.window = ReportWindow::after_report(unreported.unseen.clone());
            self.filled = start;
        }
        if self.filled < length {
            let mut log = log;
            log.seek(SeekFrom::Start(self.filled))?;
            let mut lines = BufReader::with_capacity(1 << 16, log.take(length - self.filled));
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line)? > 0 {
                if let Some(record) = AuditRecord::parse_unverified(&line) {
                    self.window.add(&record);
                }
                line.clear();
            }
            self.filled = length;
        }
        Ok(&self.window)
    }

    /// Returns the offset to start anew from: there was a report since, or the log was replaced.
    fn start(&self, length: u64, unreported: &UnreportedRange) -> Option<u64> {
        (self.filled < unreported.from || self.filled > length).then_some(unreported.from)
    }
}
