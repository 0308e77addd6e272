//! The lines of a log from any one on, as a terminal leaves them: the last writing of each, with its colours.

use std::{io, sync::Arc};

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    LinePart, LogStyle,
    ansi::{style_after, styled_parts},
    feed::{find_attempt, is_over, unreadable},
    index::{BLOCK_LINES, LineIndex, LogIndexCache},
};
use crate::{
    Caller, CommandError,
    views::{StateReader, state_reader},
};
use wf_base::{name::RunId, time::Moment};
use wf_core::machine::Attempt;
use wf_exec::log::{LogBytes, RunLogs};
use wf_store::AttemptRow;

/// The most lines of one answer.
const MAX_LINES: u64 = 2_000;

/// The size from which an answer ends early, in bytes.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// The most bytes of a line that are shown.
pub(super) const MAX_LINE_BYTES: usize = 16 * 1024;

/// The number of bytes read at once.
const READ_BYTES: usize = 128 * 1024;

/// A line of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// Its number, from 1.
    pub n: u64,
    pub parts: Vec<LinePart>,
    /// The number of bytes at its end that are not shown.
    pub omitted: u64,
    /// The time at which it came; `None`: it is not recorded, or not yet.
    pub at: Option<Moment>,
}

impl LogLine {
    /// Returns its text.
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }

    /// Returns it as programs get it: its text, and the places of its styles, counted as JavaScript counts.
    pub(super) fn document(&self) -> Value {
        let (mut spans, mut from) = (Vec::new(), 0);
        for part in &self.parts {
            let to = from + part.text.encode_utf16().count();
            if !part.style.is_empty() {
                spans.push(json!({"from": from, "to": to, "style": part.style}));
            }
            from = to;
        }
        let mut document = json!({"n": self.n, "text": self.text(), "spans": spans});
        if self.omitted > 0 {
            document["omitted"] = self.omitted.into();
        }
        if let Some(at) = self.at {
            document["at"] = json!(at);
        }
        document
    }
}

/// The lines of a log from one on.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct LogLines {
    /// The number of the first one, from 1.
    pub first: u64,
    /// The number of all lines of the log.
    pub total: u64,
    /// The length of the log in bytes: the offset from which a stream continues.
    pub size: u64,
    /// True if the attempt has ended: no more can come.
    pub is_whole: bool,
    /// The time from which those of lines are counted: the start of the attempt.
    pub started: Option<Moment>,
    pub lines: Vec<LogLine>,
}

impl LogLines {
    /// Returns them as programs get them.
    pub fn document(&self) -> Value {
        let lines: Vec<Value> = self.lines.iter().map(LogLine::document).collect();
        let Self { first, total, size, is_whole, started, .. } = self;
        json!({"first": first, "total": total, "size": size, "is_whole": is_whole, "started": started, "lines": lines})
    }
}

/// Opens the output of an attempt, to read its lines; `None`: there is no such attempt.
pub fn log_output(
    caller: &dyn Caller,
    run: &str,
    task: &str,
    attempt: u32,
) -> Result<Option<LogOutput>, CommandError> {
    let Some(reader) = state_reader(caller)? else {
        return Ok(None);
    };
    let Some((run, attempt)) = find_attempt(&reader, run, task, attempt)? else {
        return Ok(None);
    };
    LogOutput::open(&reader, &run, attempt).map(Some)
}

/// The output of an attempt, to be read by line.
#[derive(Debug)]
pub struct LogOutput {
    run: RunId,
    logs: Arc<RunLogs>,
    attempt: Attempt,
    log_bytes: LogBytes,
    index: Arc<LineIndex>,
    is_whole: bool,
    started: Option<Moment>,
}

impl LogOutput {
    /// Opens the output of an attempt.
    pub(in crate::views) fn open(
        reader: &StateReader,
        run: &RunId,
        attempt: Attempt,
    ) -> Result<Self, CommandError> {
        // Asked before the log is read: it is not whole without its last line.
        let is_whole = is_over(reader, run, &attempt)?;
        let logs = RunLogs::new(reader.store().folder().run(run));
        let started = reader.store().attempts().find(run, &attempt)?.map(|row| row.started);
        let output = Self::of_log(run, attempt, logs, reader.log_indexes(), is_whole)?;
        Ok(Self { started, ..output })
    }

    /// Opens the output of a known attempt, among the logs of its run.
    pub(super) fn of_attempt(
        run: &RunId,
        attempt: Attempt,
        logs: &Arc<RunLogs>,
        indexes: &LogIndexCache,
        row: &AttemptRow,
    ) -> Result<Self, CommandError> {
        let output = Self::of_log(run, attempt, Arc::clone(logs), indexes, row.ended.is_some())?;
        Ok(Self { started: Some(row.started), ..output })
    }

    /// Opens a log of an attempt, whose index may be known.
    pub(super) fn of_log(
        run: &RunId,
        attempt: Attempt,
        logs: Arc<RunLogs>,
        indexes: &LogIndexCache,
        is_whole: bool,
    ) -> Result<Self, CommandError> {
        let opened = logs.bytes(&attempt).and_then(|log_bytes| {
            let index = indexes.index(run, &attempt, &log_bytes)?;
            Ok((log_bytes, index))
        });
        let (log_bytes, index) = opened.map_err(|error| unreadable(&logs, &attempt, &error))?;
        Ok(Self { run: run.clone(), logs, attempt, log_bytes, index, is_whole, started: None })
    }

    /// Returns the start of the attempt, if it is known.
    pub(super) fn started(&self) -> Option<Moment> {
        self.started
    }

    /// Returns the number of its lines.
    pub fn line_count(&self) -> u64 {
        self.index.line_count()
    }

    /// Returns the run of the attempt.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Returns the attempt.
    pub fn attempt(&self) -> &Attempt {
        &self.attempt
    }

    /// Returns at most `count` lines, from one on or the last ones.
    pub fn lines(&self, from: Option<u64>, count: u64) -> Result<LogLines, CommandError> {
        let total = self.line_count();
        let count = count.min(MAX_LINES);
        let first = from.unwrap_or_else(|| (total + 1).saturating_sub(count)).max(1);
        let lines = self.read(first, count).map_err(|error| self.unreadable(&error))?;
        let (size, is_whole, started) = (self.log_bytes.length(), self.is_whole, self.started);
        Ok(LogLines { first, total, size, is_whole, started, lines })
    }

    /// Returns the error for its log.
    pub(super) fn unreadable(&self, error: &io::Error) -> CommandError {
        unreadable(&self.logs, &self.attempt, error)
    }

    fn read(&self, first: u64, count: u64) -> io::Result<Vec<LogLine>> {
        if first > self.line_count() {
            return Ok(Vec::new());
        }
        let mut raw_lines = self.raw_lines(first)?;
        let (mut lines, mut starts, mut size) = (Vec::new(), Vec::new(), 0);
        while (lines.len() as u64) < count
            && size < MAX_ANSWER_BYTES
            && let Some(line) = raw_lines.next_shown()?
        {
            size += line.parts.iter().map(|part| part.text.len()).sum::<usize>();
            lines.push(line);
            starts.push(raw_lines.start);
        }
        self.add_times(&mut lines, &starts)?;
        Ok(lines)
    }

    /// Adds their times to some lines, by the offsets of their first bytes.
    fn add_times(&self, lines: &mut [LogLine], starts: &[u64]) -> io::Result<()> {
        let (Some(first), Some(last)) = (starts.first(), starts.last()) else {
            return Ok(());
        };
        let arrivals = self.log_bytes.arrivals(*first, *last + 1)?;
        let mut next = arrivals.iter().peekable();
        for (line, start) in lines.iter_mut().zip(starts) {
            while next.next_if(|arrival| arrival.offset + arrival.length <= *start).is_some() {}
            line.at = next.peek().filter(|arrival| arrival.offset <= *start).map(|arrival| arrival.at);
        }
        Ok(())
    }

    /// Returns its bytes.
    pub(super) fn log_bytes(&self) -> &LogBytes {
        &self.log_bytes
    }

    /// Returns the first line of the block with a line, counted from 0, and its offset.
    pub(super) fn block_start(&self, line: u64) -> (u64, u64) {
        self.index.block_start(line)
    }

    /// Returns a reader of its lines, from one on, which exists. A style lasts to the end of its block of lines, so that a
    /// line looks the same wherever a reader begins.
    fn raw_lines(&self, first: u64) -> io::Result<RawLines<'_>> {
        let (block, offset) = self.index.block_start(first - 1);
        let mut raw_lines = RawLines::new(&self.log_bytes, offset, block);
        while raw_lines.line + 1 < first && raw_lines.next()? {}
        Ok(raw_lines)
    }
}

/// A reader of the lines of a log. It holds one of them, as far as it is shown.
struct RawLines<'a> {
    log_bytes: &'a LogBytes,
    /// The bytes that were read, and the place of the next one.
    buffer: Vec<u8>,
    at: usize,
    offset: u64,
    /// The number of lines before the next one.
    line: u64,
    /// The offset of the first byte of the line.
    start: u64,
    /// The style at the beginning of the line.
    style: LogStyle,
    /// The bytes of the line, since a terminal wrote from its beginning again.
    kept: Vec<u8>,
    omitted: u64,
    /// True if a return of the cursor was read, behind which there may be the end of the line.
    has_returned: bool,
}

impl<'a> RawLines<'a> {
    fn new(log_bytes: &'a LogBytes, offset: u64, line: u64) -> Self {
        Self {
            log_bytes,
            buffer: Vec::new(),
            at: 0,
            offset,
            line,
            start: offset,
            style: LogStyle::default(),
            kept: Vec::new(),
            omitted: 0,
            has_returned: false,
        }
    }

    /// Reads the next line, and returns it as it is shown; `None` behind the last one.
    fn next_shown(&mut self) -> io::Result<Option<LogLine>> {
        if !self.next()? {
            return Ok(None);
        }
        let mut parts = Vec::new();
        styled_parts(&self.shown_text(), self.style, &mut parts);
        Ok(Some(LogLine { n: self.line, parts, omitted: self.omitted, at: None }))
    }

    /// Returns the text of the line that is shown, with its colours.
    fn shown_text(&self) -> String {
        let kept = match std::str::from_utf8(&self.kept) {
            // A character that was cut off is none.
            Err(error) if error.error_len().is_none() && self.omitted > 0 => {
                self.kept.get(..error.valid_up_to()).unwrap_or_default()
            }
            _ => self.kept.as_slice(),
        };
        String::from_utf8_lossy(kept).into_owned()
    }

    /// Reads the next line; false behind the last one.
    fn next(&mut self) -> io::Result<bool> {
        self.style = if self.line.is_multiple_of(BLOCK_LINES) {
            LogStyle::default()
        } else {
            style_after(&String::from_utf8_lossy(&self.kept), self.style)
        };
        self.kept.clear();
        self.start = self.offset - self.buffer.len().saturating_sub(self.at) as u64;
        (self.omitted, self.has_returned) = (0, false);
        let mut is_there = false;
        loop {
            let rest = self.buffer.get(self.at..).unwrap_or_default();
            if rest.is_empty() {
                if !self.fill()? {
                    self.line += u64::from(is_there);
                    return Ok(is_there);
                }
                continue;
            }
            is_there = true;
            let end = memchr::memchr(b'\n', rest);
            let segment = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default().to_vec();
            self.at += segment.len() + usize::from(end.is_some());
            self.take(&segment);
            if end.is_some() {
                self.line += 1;
                return Ok(true);
            }
        }
    }

    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.resize(READ_BYTES, 0);
        let count = self.log_bytes.read_at(&mut self.buffer, self.offset)?;
        self.buffer.truncate(count);
        self.at = 0;
        self.offset += count as u64;
        Ok(count > 0)
    }

    /// Takes bytes of a line.
    fn take(&mut self, segment: &[u8]) {
        let mut parts = segment.split(|byte| *byte == b'\r').peekable();
        while let Some(part) = parts.next() {
            if !part.is_empty() {
                self.write(part);
            }
            self.has_returned |= parts.peek().is_some();
        }
    }

    fn write(&mut self, part: &[u8]) {
        if std::mem::take(&mut self.has_returned) {
            self.style = style_after(&String::from_utf8_lossy(&self.kept), self.style);
            self.kept.clear();
            self.omitted = 0;
        }
        let room = (MAX_LINE_BYTES - self.kept.len()).min(part.len());
        self.kept.extend_from_slice(part.get(..room).unwrap_or_default());
        self.omitted += (part.len() - room) as u64;
    }
}
