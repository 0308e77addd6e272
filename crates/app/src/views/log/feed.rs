//! The output of an attempt for whoever follows it: one part after another, from any offset on.

use std::{io, sync::Arc};

use crate::{
    Caller, CliExitCode, CommandError,
    views::{StateReader, find_run, state_reader},
};
use wf_base::{name::RunId, untrusted::UntrustedText};
use wf_core::machine::{Attempt, TaskId};
use wf_exec::log::{LogChunk, LogFollower, RunLogs};
use wf_store::RunState;

/// The most bytes of a part of a log, and of a line held back while it is incomplete.
pub(super) const MAX_PART_BYTES: usize = 64 * 1024;

/// The bytes before the end of a log for a reader without a place in it.
const RECENT_BYTES: u64 = 64 * 1024;

/// The place from which a log is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStart {
    /// The last lines that are there, as a page shows them.
    Recent,
    /// Behind a number of bytes.
    Offset(u64),
}

/// A part of a log: whole lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPart {
    /// The lines, safe to show.
    pub text: String,
    /// The offset of the next part for a reader. It stays the same once a log is so long that its
    /// middle is left out: what follows is then read again.
    pub offset: u64,
    /// True if it begins what follows that offset: a reader who has more than that forgets it.
    pub begins_rest: bool,
}

/// The output of an attempt as it comes.
///
/// **Invariant:** it holds one part in memory, however long the log is and however slowly it is read.
#[derive(Debug)]
pub struct LogFeed {
    run: RunId,
    attempt: Attempt,
    logs: Arc<RunLogs>,
    follower: LogFollower,
    /// The omitted bytes at the beginning.
    skipped: u64,
    /// True until the first line end, if the beginning is within a line.
    is_within_line: bool,
    /// The offset behind the last returned line.
    offset: u64,
    /// The bytes that were read and not returned.
    pending: Vec<u8>,
    rest: LogRest,
}

/// The part of a log behind the first bytes, whose offsets change when the log is complete.
#[derive(Debug, PartialEq, Eq)]
enum LogRest {
    /// It has not begun.
    Ahead,
    /// Its first bytes were read, and those before them are to be returned first.
    Next(Vec<u8>),
    /// It begins with the next part.
    Begins,
    /// A part of it was returned.
    Begun,
}

/// Opens the output of an attempt of a run, by the step and the number of its item: `probe[2]`; `None` if there is no
/// such run or attempt.
pub fn log_feed(
    caller: &dyn Caller,
    run: &str,
    task: &str,
    attempt: u32,
    start: LogStart,
) -> Result<Option<LogFeed>, CommandError> {
    let Some(reader) = state_reader(caller)? else {
        return Ok(None);
    };
    let Some((run, attempt)) = find_attempt(&reader, run, task, attempt)? else {
        return Ok(None);
    };
    let logs = RunLogs::new(reader.store().folder().run(&run));
    LogFeed::open(run, attempt, logs, start).map(Some)
}

/// Returns the attempt that an address names; `None` if there is no such run or attempt.
pub(super) fn find_attempt(
    reader: &StateReader,
    run: &str,
    task: &str,
    attempt: u32,
) -> Result<Option<(RunId, Attempt)>, CommandError> {
    let (Some(run), Ok(task_id)) = (find_run(reader, run)?, task.parse::<TaskId>()) else {
        return Ok(None);
    };
    let attempt = Attempt { task_id, attempt };
    let is_there = reader.store().attempts().find(&run, &attempt)?.is_some();
    Ok(is_there.then_some((run, attempt)))
}

/// True if an attempt has ended, so that no more output can come than is there.
pub(super) fn is_over(reader: &StateReader, run: &RunId, attempt: &Attempt) -> Result<bool, CommandError> {
    let reader = reader.store();
    let has_ended = reader.attempts().find(run, attempt)?.is_none_or(|row| row.ended.is_some());
    Ok(has_ended || reader.runs().get(run)?.state != RunState::Running)
}

impl LogFeed {
    pub(super) fn open(
        run: RunId,
        attempt: Attempt,
        logs: Arc<RunLogs>,
        start: LogStart,
    ) -> Result<Self, CommandError> {
        let skipped = match start {
            LogStart::Offset(offset) => offset,
            LogStart::Recent => {
                let length = logs.length(&attempt).map_err(|error| unreadable(&logs, &attempt, &error))?;
                length.saturating_sub(RECENT_BYTES)
            }
        };
        Ok(Self {
            run,
            follower: logs.follow(&attempt),
            attempt,
            logs,
            skipped,
            is_within_line: start == LogStart::Recent && skipped > 0,
            offset: skipped,
            pending: Vec::new(),
            rest: LogRest::Ahead,
        })
    }

    /// True if the attempt has ended, so that no more output can come than is there.
    pub fn is_over(&self, caller: &dyn Caller) -> Result<bool, CommandError> {
        let Some(reader) = state_reader(caller)? else {
            return Ok(true);
        };
        is_over(&reader, &self.run, &self.attempt)
    }

    /// Returns the lines that came since the last call; `None` if there are none. `is_over` says that no more can come, so
    /// that a line without an end is one, too.
    pub fn next_part(&mut self, is_over: bool) -> Result<Option<LogPart>, CommandError> {
        self.fill(is_over).map_err(|error| unreadable(&self.logs, &self.attempt, &error))?;
        let is_turning = matches!(self.rest, LogRest::Next(_));
        let line_end = self.pending.iter().rposition(|byte| *byte == b'\n');
        let is_whole =
            is_turning || self.pending.len() >= MAX_PART_BYTES || (is_over && !self.pending.is_empty());
        let length = match line_end {
            _ if is_turning => self.pending.len(),
            Some(at) => at + 1,
            None if is_whole => self.pending.len(),
            None => 0,
        };
        let left = self.pending.split_off(length);
        let bytes = std::mem::replace(&mut self.pending, left);
        let begins_rest = self.rest == LogRest::Begins && !bytes.is_empty();
        if self.rest == LogRest::Ahead || is_turning {
            self.offset += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        }
        if begins_rest {
            self.rest = LogRest::Begun;
        }
        if let LogRest::Next(first) = &mut self.rest {
            self.pending = std::mem::take(first);
            self.rest = LogRest::Begins;
            if bytes.is_empty() {
                return self.next_part(is_over);
            }
        }
        let text = UntrustedText::printed(&bytes).block();
        Ok((!bytes.is_empty()).then_some(LogPart { text, offset: self.offset, begins_rest }))
    }

    /// Reads until a part is full, or nothing more is there.
    fn fill(&mut self, is_over: bool) -> io::Result<()> {
        while self.pending.len() < MAX_PART_BYTES {
            let next = if is_over { self.follower.next_of_ended() } else { self.follower.next_chunk() };
            let Some(LogChunk { bytes, .. }) = next? else {
                return Ok(());
            };
            if self.rest == LogRest::Ahead && self.follower.is_behind_head() {
                self.rest = LogRest::Next(bytes);
                return Ok(());
            }
            self.take(&bytes);
        }
        Ok(())
    }

    /// Holds bytes, without the omitted ones.
    fn take(&mut self, bytes: &[u8]) {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let dropped = self.skipped.min(length);
        self.skipped -= dropped;
        let mut new = usize::try_from(dropped).ok().and_then(|count| bytes.get(count..)).unwrap_or_default();
        if self.is_within_line && !new.is_empty() {
            let line = new.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            self.is_within_line = line.is_none();
            let line = line.unwrap_or(new.len());
            self.offset += u64::try_from(line).unwrap_or(u64::MAX);
            new = new.get(line..).unwrap_or_default();
        }
        self.pending.extend_from_slice(new);
    }
}

/// Returns the error for a log that cannot be read.
pub(super) fn unreadable(logs: &RunLogs, attempt: &Attempt, error: &io::Error) -> CommandError {
    let path = logs.path(attempt);
    CommandError::new(CliExitCode::State, format!("cannot read the log {}: {error}", path.display()))
}
