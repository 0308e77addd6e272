use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use super::record::Record;
use super::since::Since;
use super::stats::Window;

/// The window of a log, filled only as far as it has to be: what others write is read when a report
/// is due. There are many who write at once, and few reports.
#[derive(Debug, Default)]
pub(super) struct View {
    window: Window,
    /// How far it is filled, in bytes of the log.
    filled: u64,
}

impl View {
    /// Takes a record into account that was written from one place to another, if it has all that
    /// is before it.
    pub(super) fn written(&mut self, from: u64, to: u64, record: &Record) {
        if self.filled == from {
            self.window.add(record);
            self.filled = to;
        }
    }

    /// What is known before the next record, if it has all that is before a place.
    pub(super) fn since(&self, from: u64, to: u64) -> Option<Since> {
        let has = self.filled == to;
        has.then(|| Since::new(from, self.window.unseen().clone()))
    }

    /// How much of the log it would have to read, in bytes.
    pub(super) fn lacks(&self, length: u64, since: &Since) -> u64 {
        length.saturating_sub(self.start(length, since).unwrap_or(self.filled))
    }

    /// The window, filled up to the end of the log. What a line says is believed here; whether it
    /// is what was written is for [`verify`](super::verify()) to say.
    pub(super) fn fill(&mut self, log: &File, length: u64, since: &Since) -> io::Result<&Window> {
        if let Some(start) = self.start(length, since) {
            self.window = Window::behind(since.unseen.clone());
            self.filled = start;
        }
        if self.filled < length {
            let mut log = log;
            log.seek(SeekFrom::Start(self.filled))?;
            let mut lines = BufReader::with_capacity(1 << 16, log.take(length - self.filled));
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line)? > 0 {
                if let Some(record) = Record::believe(&line) {
                    self.window.add(&record);
                }
                line.clear();
            }
            self.filled = length;
        }
        Ok(&self.window)
    }

    /// Where it has to begin anew: there was a report since, or the log is not what it was.
    fn start(&self, length: u64, since: &Since) -> Option<u64> {
        (self.filled < since.from || self.filled > length).then_some(since.from)
    }
}
