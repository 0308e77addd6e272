//! The end of a log, as the page of its attempt shows it.

use serde::Serialize;

use super::{LogLine, LogOutput, feed::unreadable};
use crate::{CommandError, views::StateReader};
use wf_base::name::RunId;
use wf_core::machine::Attempt;
use wf_exec::log::RunLogs;

/// The most lines of a text.
const MAX_TEXT_LINES: usize = 2_000;

/// The most lines with numbers, and the most bytes of them.
const MAX_LINES: u64 = 500;
const MAX_BYTES: usize = 64 * 1024;

/// The end of the output of an attempt.
#[derive(Debug, Serialize)]
pub struct LogTailView {
    pub attempt: u32,
    /// Its last lines without colours; empty if it wrote none.
    pub text: String,
    /// Its last lines.
    pub lines: Vec<LogLine>,
    /// The number of all its lines.
    pub total: u64,
}

/// Returns the end of the output of an attempt.
pub(in crate::views) fn log_tail(
    reader: &StateReader,
    run: &RunId,
    attempt: Attempt,
) -> Result<LogTailView, CommandError> {
    let logs = RunLogs::new(reader.store().folder().run(run));
    let text = logs.tail(&attempt, MAX_TEXT_LINES).map_err(|error| unreadable(&logs, &attempt, &error))?;
    let number = attempt.attempt;
    let read = LogOutput::open(reader, run, attempt)?.lines(None, MAX_LINES)?;
    let mut room = MAX_BYTES;
    let shown = read.lines.iter().rev().take_while(|line| {
        let size = line.parts.iter().map(|part| part.text.len()).sum();
        let fits = size <= room;
        room = room.saturating_sub(size);
        fits
    });
    let count = shown.count();
    let mut lines = read.lines;
    let lines = lines.split_off(lines.len() - count);
    Ok(LogTailView { attempt: number, text, lines, total: read.total })
}
