use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use crate::log::known::UnreportedRange;
use crate::records::record::AuditRecord;
use crate::stats::ReportWindow;

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
