//! A segment of a log, the first or the last half: its bytes, and its index.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

use wf_base::time::Moment;

use super::{LogStream, record::LogIndexRecord, target};

/// The time in milliseconds within which bytes of one stream share a record.
const RECORD_MERGE_MILLIS: i64 = 50;

/// A growing log file and its index.
#[derive(Debug)]
pub(super) struct LogSegment {
    log: File,
    index: File,
    length: u64,
    records: u64,
    /// The maximum number of index records, so a trickle of single bytes stays small.
    most_records: u64,
    last_record: Option<LogIndexRecord>,
    unsettled: bool,
}

impl LogSegment {
    /// Creates the files, in place of existing ones.
    pub(super) fn create(path: &Path, limit: u64) -> io::Result<Self> {
        // Whoever finds the log finds the index, too.
        let index = open(&target::index(path))?;
        Ok(Self {
            log: open(path)?,
            index,
            length: 0,
            records: 0,
            most_records: 4096 + limit / 64,
            last_record: None,
            unsettled: false,
        })
    }

    /// Returns the length in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Appends bytes: to the log at once, to the index when their run ends, so the index never covers more than the log
    /// contains.
    pub(super) fn append(&mut self, stream: LogStream, at: Moment, bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).unwrap_or(LogIndexRecord::MAX);
        self.log.write_all_at(bytes, self.length)?;
        self.length += bytes.len() as u64;
        match &mut self.last_record {
            Some(last) if continues(*last, stream, at, length, self.records >= self.most_records) => {
                last.length = last.length.saturating_add(length).min(LogIndexRecord::MAX);
            }
            _ => {
                self.flush_index()?;
                self.records += 1;
                self.last_record = Some(LogIndexRecord { at, stream, length });
            }
        }
        self.unsettled = true;
        Ok(())
    }

    /// True if the index lags behind the log.
    pub(super) fn is_index_behind(&self) -> bool {
        self.unsettled
    }

    /// Brings the index up to date.
    pub(super) fn flush_index(&mut self) -> io::Result<()> {
        if let (true, Some(last)) = (self.unsettled, self.last_record) {
            let place = (self.records - 1) * LogIndexRecord::SIZE as u64;
            self.index.write_all_at(&last.to_bytes(), place)?;
        }
        self.unsettled = false;
        Ok(())
    }
}

/// True if bytes belong to the last run: same stream, same time; or the index is full.
fn continues(last_record: LogIndexRecord, stream: LogStream, at: Moment, length: u32, full: bool) -> bool {
    let fits = last_record.length.saturating_add(length) <= LogIndexRecord::MAX;
    let same = last_record.stream == stream && at.millis() - last_record.at.millis() < RECORD_MERGE_MILLIS;
    (same && fits) || full
}

/// Creates a file of a log, whatever is at its place: a link would lead elsewhere, and a pipe would be waited for.
fn open(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => OpenOptions::new().write(true).create_new(true).open(path),
    }
}
