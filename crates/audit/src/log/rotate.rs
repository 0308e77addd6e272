//! The change to a new file of the log.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    os::unix::fs::MetadataExt,
    path::Path,
};

use crate::{
    log::{
        audit_log::{AuditLog, LOG},
        known::{AuditCursor, UnreportedRange},
        read::LazyReportWindow,
        segments::{bytes_before, closed_path},
    },
    records::{
        ledger::{AuditLogState, SegmentHead, restored},
        record::{AuditEntry, AuditRecord},
        unseen::UnconfirmedEvents,
        words::{DATABASE_ROLLED_BACK, LOG_CREATED, LogCreatedBody, SEGMENT_STARTED, STATE_RESTORED},
    },
};
use wf_base::{failpoint, time::Moment};
use wf_store::feed::LogAnchor;

/// The name of a new segment until it is complete.
const NEXT: &str = "log.next";

/// A fold of the records of a log, for the head of the next segment.
#[derive(Debug, Default)]
pub(crate) struct SegmentFold {
    state: AuditLogState,
    /// The events no auditor heard of.
    pub unconfirmed: UnconfirmedEvents,
    end_anchor: Option<LogAnchor>,
}

impl SegmentFold {
    pub(crate) fn add(&mut self, record: &AuditRecord) {
        self.state.add(record);
        self.unconfirmed.add(record);
        let entry = &record.entry;
        self.end_anchor = match entry.kind.as_str() {
            LOG_CREATED => entry.read::<LogCreatedBody>().and_then(|begun| begun.end),
            SEGMENT_STARTED => SegmentHead::of(entry).and_then(|head| head.end),
            STATE_RESTORED => restored(entry),
            // The next event says what the database is now.
            DATABASE_ROLLED_BACK => None,
            _ => entry.db.or(self.end_anchor),
        };
    }

    /// Returns the head of a segment that follows, behind so many bytes of the log; `None`: no event says what the database is.
    pub(crate) fn head(&self, bytes: u64) -> Option<SegmentHead> {
        let is_known = self.end_anchor.map_or(0, |end| end.seq) == self.state.seq;
        let (ledger, unseen) = (self.state.clone(), self.unconfirmed.clone().without_reported());
        is_known.then_some(SegmentHead { bytes, end: self.end_anchor, ledger, unseen })
    }
}

/// Reads a segment; returns its first record, and what all of them come to.
fn read(mut file: &File, length: u64) -> io::Result<(Option<AuditRecord>, SegmentFold)> {
    file.seek(SeekFrom::Start(0))?;
    let mut lines = BufReader::with_capacity(1 << 16, file.take(length));
    let (mut first, mut fold, mut line) = (None, SegmentFold::default(), Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        if let Some(record) = AuditRecord::parse_unverified(&line) {
            fold.add(&record);
            first.get_or_insert(record);
        }
        line.clear();
    }
    Ok((first, fold))
}

impl AuditLog {
    /// Closes the segment written, and starts the next one. The log is locked.
    ///
    /// A process that dies meanwhile leaves the log as it was, or as it is to be: the next segment is complete before it
    /// gets the name of the log, and until then the present one has it, too.
    pub(crate) fn start_segment(&mut self, now: Moment) -> io::Result<()> {
        let (first, fold) = read(&self.file, self.cursor.length)?;
        let before = bytes_before(first.as_ref());
        let (Some(first), Some(head)) = (first, fold.head(before + self.cursor.length)) else {
            return Ok(());
        };
        let unseen = head.unseen.clone();
        let entry = AuditEntry::new(now, SEGMENT_STARTED).with_summary(&head);
        let (record, line) = entry.bind_line(self.cursor.ledger.n + 1, self.cursor.ledger.hash);
        let (path, next) = (self.dir.join(LOG), self.dir.join(NEXT));
        failpoint::point("segment.before");
        let file = create(&next, &line)?;
        // Behind a loss of power, the present one must not be shorter than the next one says.
        self.file.sync_data()?;
        let closed = closed_path(&self.dir, first.n);
        link(&path, &closed)?;
        failpoint::point("segment.linked");
        fs::rename(&next, &path)?;
        failpoint::point("segment.after");
        let mut ledger = fold.state;
        ledger.add(&record);
        let mut since = UnreportedRange::new(0, unseen);
        since.extend_span(now);
        (self.file, self.window) = (file, LazyReportWindow::default());
        self.cursor = AuditCursor { length: line.len() as u64 + 1, ledger, since };
        Ok(())
    }
}

/// Creates a file of one line, locked, on the disk.
fn create(path: &Path, line: &str) -> io::Result<File> {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    file.lock()?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_all()?;
    Ok(file)
}

/// Gives a file a second name, in place of what a process left there that died in between.
fn link(path: &Path, name: &Path) -> io::Result<()> {
    match fs::hard_link(path, name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let (own, named) = (fs::metadata(path)?, fs::symlink_metadata(name)?);
            if (own.dev(), own.ino()) == (named.dev(), named.ino()) {
                return Ok(());
            }
            fs::remove_file(name)?;
            fs::hard_link(path, name)
        }
        linked => linked,
    }
}
