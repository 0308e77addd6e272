use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{Stream, record::Record, target};
use crate::time::Moment;

/// Bytes of one stream that come within this time share one record, in milliseconds.
const SAME_TIME: i64 = 50;

/// One log file that grows, and its index.
#[derive(Debug)]
pub(super) struct Segment {
    log: File,
    index: File,
    length: u64,
    records: u64,
    /// The index never grows past this, so that a drizzle of single bytes stays small.
    most_records: u64,
    last: Option<Record>,
    unsettled: bool,
}

impl Segment {
    /// Makes the files; what was there is gone.
    pub(super) fn create(path: &Path, limit: u64) -> io::Result<Self> {
        Ok(Self {
            log: open(path)?,
            index: open(&target::index(path))?,
            length: 0,
            records: 0,
            most_records: 4096 + limit / 64,
            last: None,
            unsettled: false,
        })
    }

    /// How many bytes it has.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Adds bytes: at once to the log, to the index when their run ends, so that the index never
    /// promises more than there is.
    pub(super) fn append(&mut self, stream: Stream, at: Moment, bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).unwrap_or(Record::MAX);
        self.log.write_all_at(bytes, self.length)?;
        self.length += bytes.len() as u64;
        match &mut self.last {
            Some(last)
                if continues(*last, stream, at, length, self.records >= self.most_records) =>
            {
                last.length = last.length.saturating_add(length).min(Record::MAX);
            }
            _ => {
                self.settle()?;
                self.records += 1;
                self.last = Some(Record { at, stream, length });
            }
        }
        self.unsettled = true;
        Ok(())
    }

    /// Whether the index lags behind the log.
    pub(super) fn is_unsettled(&self) -> bool {
        self.unsettled
    }

    /// Brings the index up to date.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        if let (true, Some(last)) = (self.unsettled, self.last) {
            let place = (self.records - 1) * Record::SIZE as u64;
            self.index.write_all_at(&last.to_bytes(), place)?;
        }
        self.unsettled = false;
        Ok(())
    }
}

/// Whether bytes belong to the last run: same stream, same time; or the index is full.
fn continues(last: Record, stream: Stream, at: Moment, length: u32, full: bool) -> bool {
    let fits = last.length.saturating_add(length) <= Record::MAX;
    let same = last.stream == stream && at.millis() - last.at.millis() < SAME_TIME;
    (same && fits) || full
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
}
