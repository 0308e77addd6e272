//! The places of lines in logs, so that a page shows the lines around any one without reading those before it.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use wf_base::name::RunId;
use wf_core::machine::Attempt;
use wf_exec::log::{LogBytes, LogExtent};

/// The distance between two lines whose place is known.
pub(super) const BLOCK_LINES: u64 = 1_024;

/// The most logs whose index is kept. That of 64 MiB of empty lines, the largest, has 512 KiB.
const MAX_INDEXES: usize = 24;

/// The number of bytes read at once.
const READ_BYTES: usize = 256 * 1024;

/// The places of every 1,024th line of a log.
#[derive(Clone, Debug, Default)]
pub(super) struct LineIndex {
    extent: LogExtent,
    /// The offset of the first line of each block, apart from the first.
    starts: Vec<u64>,
    /// The number of line ends.
    ends: u64,
    /// The number of bytes looked through.
    length: u64,
    /// True if the last line has no end.
    is_open: bool,
}

impl LineIndex {
    /// Returns the number of lines; one without an end is one, too.
    pub(super) fn line_count(&self) -> u64 {
        self.ends + u64::from(self.is_open)
    }

    /// Returns the first line of the block with a line, counted from 0, and its offset.
    pub(super) fn block_start(&self, line: u64) -> (u64, u64) {
        let block = usize::try_from(line / BLOCK_LINES).unwrap_or(usize::MAX).min(self.starts.len());
        let start = block.checked_sub(1).and_then(|at| self.starts.get(at));
        (block as u64 * BLOCK_LINES, start.copied().unwrap_or(0))
    }

    /// Looks through what was added to a log, or through all of it if it is another one now.
    fn extend(&mut self, log_bytes: &LogBytes) -> io::Result<()> {
        let extent = log_bytes.extent();
        if !self.extent.is_beginning_of(&extent) {
            *self = Self::default();
        }
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let count = log_bytes.read_at(&mut buffer, self.length)?;
            let bytes = buffer.get(..count).unwrap_or_default();
            let Some(last) = bytes.last() else {
                break;
            };
            for at in memchr::memchr_iter(b'\n', bytes) {
                self.ends += 1;
                if self.ends.is_multiple_of(BLOCK_LINES) {
                    self.starts.push(self.length + at as u64 + 1);
                }
            }
            self.is_open = *last != b'\n';
            self.length += count as u64;
        }
        self.extent = extent;
        Ok(())
    }
}

/// The indexes of the logs that were read last.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogIndexCache(Arc<Mutex<Vec<CachedIndex>>>);

/// An index, and the log that it is of.
#[derive(Debug)]
struct CachedIndex {
    run: RunId,
    attempt: Attempt,
    index: Arc<LineIndex>,
}

impl LogIndexCache {
    /// Returns the index of a log as it is now.
    pub(super) fn index(
        &self,
        run: &RunId,
        attempt: &Attempt,
        log_bytes: &LogBytes,
    ) -> io::Result<Arc<LineIndex>> {
        let known = {
            let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let at = cached.iter().position(|one| one.run == *run && one.attempt == *attempt);
            at.map(|at| cached.remove(at).index)
        };
        let mut index = known.unwrap_or_default();
        if index.extent != log_bytes.extent() {
            Arc::make_mut(&mut index).extend(log_bytes)?;
        }
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Another reader may have kept it meanwhile.
        cached.retain(|one| one.run != *run || one.attempt != *attempt);
        cached.truncate(MAX_INDEXES - 1);
        cached
            .insert(0, CachedIndex { run: run.clone(), attempt: attempt.clone(), index: Arc::clone(&index) });
        Ok(index)
    }
}
