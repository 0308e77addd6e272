//! The output of all attempts of a run as one, line by line in the order of arrival.
//!
//! The times of lines are those of the index of each log, to within some hundredths of a second; lines of one attempt keep their order
//! whatever a clock did. While a run goes on, the lines of the last second are not there yet: those that come before them may still
//! be on their way, and a line keeps its number.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    time::Duration,
};

use serde::Serialize;
use serde_json::{Value, json};

use super::{LineHit, LogHits, LogLine, LogOutput};
use crate::CommandError;
use wf_base::{name::RunId, time::Moment};

/// The time until all lines from before a moment are in their logs.
const SETTLING_TIME: Duration = Duration::from_secs(1);

/// The most hits of one answer.
const MAX_HITS: usize = 500;

/// The number of bytes read at once.
const READ_BYTES: usize = 256 * 1024;

/// Successive lines of one log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LineStretch {
    at: Moment,
    /// The place of the log among all.
    log: usize,
    /// The number of its first line in the log, from 1.
    first: u64,
    count: u64,
    /// The number of merged lines before it.
    before: u64,
}

/// The outputs of attempts, merged.
#[derive(Debug, Default)]
pub(super) struct MergedLogs {
    logs: Vec<LogOutput>,
    stretches: Vec<LineStretch>,
    total: u64,
}

/// A line of merged outputs: the place of its log, its number there, and the line with its number here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineOfLog {
    pub log: usize,
    pub own: u64,
    pub line: LogLine,
}

/// A line of the output of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunLogLine {
    #[serde(flatten)]
    pub line: LogLine,
    /// The task of it, as it is shown to people.
    pub task: String,
    /// The run of the task: this one, or one nested in it.
    pub run: RunId,
    /// The task, as an address names it.
    pub address: String,
    pub attempt: u32,
    /// The number of the line in the output of its attempt.
    pub own: u64,
    /// The number of the colour of its step, from 0.
    pub hue: usize,
}

impl RunLogLine {
    /// Returns it as programs get it.
    pub fn document(&self) -> Value {
        let mut document = self.line.document();
        let Self { task, run, address, attempt, own, hue, .. } = self;
        let parts =
            json!({"task": task, "run": run, "address": address, "attempt": attempt, "own": own, "hue": hue});
        if let (Some(document), Value::Object(parts)) = (document.as_object_mut(), parts) {
            document.extend(parts);
        }
        document
    }
}

impl MergedLogs {
    /// Merges outputs of attempts; of a live run, as far as its lines are settled at a moment.
    pub fn of(logs: Vec<LogOutput>, live_at: Option<Moment>) -> io::Result<Self> {
        let mut stretches = Vec::new();
        for (place, log) in logs.iter().enumerate() {
            add_stretches(&mut stretches, place, log, live_at)?;
        }
        stretches.sort_by_key(|stretch| (stretch.at, stretch.log, stretch.first));
        let mut merged: Vec<LineStretch> = Vec::new();
        let mut total = 0;
        for stretch in stretches {
            match merged.last_mut() {
                Some(last) if last.log == stretch.log => last.count += stretch.count,
                _ => merged.push(LineStretch { before: total, ..stretch }),
            }
            total += stretch.count;
        }
        Ok(Self { logs, stretches: merged, total })
    }

    /// Returns the number of all lines.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns at most `count` lines, from one on.
    pub fn lines(&self, from: u64, count: u64) -> Result<Vec<LineOfLog>, CommandError> {
        let (skipped, end) =
            (from.saturating_sub(1), from.saturating_sub(1).saturating_add(count).min(self.total));
        let first = self.stretches.partition_point(|stretch| stretch.before + stretch.count <= skipped);
        let within = self.stretches.get(first..).unwrap_or_default();
        let within: Vec<LineStretch> = within
            .iter()
            .take_while(|stretch| stretch.before < end)
            .map(|stretch| cut(*stretch, skipped, end))
            .collect();
        // Of each log, the lines follow each other: it is read once.
        let mut wanted: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        for stretch in &within {
            wanted.entry(stretch.log).or_insert((stretch.first, 0)).1 += stretch.count;
        }
        let mut read = BTreeMap::new();
        for (log, (first, count)) in wanted {
            let lines = self.logs.get(log).map(|log| log.lines(Some(first), count)).transpose()?;
            read.insert(log, lines.map(|lines| VecDeque::from(lines.lines)).unwrap_or_default());
        }
        let mut lines = Vec::new();
        for stretch in within {
            for at in 0..stretch.count {
                // An answer of a log that would be too long ends early, and so does this one.
                let Some(mut line) = read.get_mut(&stretch.log).and_then(VecDeque::pop_front) else {
                    return Ok(lines);
                };
                let own = line.n;
                line.n = stretch.before + at + 1;
                lines.push(LineOfLog { log: stretch.log, own, line });
            }
        }
        Ok(lines)
    }

    /// Returns the first lines with a hit behind line `after`, at most `count`; `search` looks through one log behind a
    /// line of it.
    pub fn search<E>(
        &self,
        after: u64,
        count: usize,
        search: impl Fn(&LogOutput, u64) -> Result<LogHits, E>,
    ) -> Result<LogHits, E> {
        let count = count.clamp(1, MAX_HITS);
        let (mut hits, mut more): (Vec<LineHit>, bool) = (Vec::new(), false);
        let mut of_logs = vec![Vec::new(); self.logs.len()];
        for stretch in &self.stretches {
            if let Some(own) = of_logs.get_mut(stretch.log) {
                own.push(*stretch);
            }
        }
        for (log, own) in self.logs.iter().zip(&of_logs) {
            let behind =
                own.iter().map(|stretch| after.saturating_sub(stretch.before).min(stretch.count)).sum();
            let found = search(log, behind)?;
            more |= found.more;
            if found.is_given_up {
                return Ok(found);
            }
            let numbered = found.hits.into_iter().filter_map(|hit| {
                let at = own.partition_point(|stretch| stretch.first + stretch.count <= hit.n);
                let stretch = own.get(at)?;
                Some(LineHit { n: stretch.before + 1 + hit.n.checked_sub(stretch.first)?, ..hit })
            });
            hits.extend(numbered);
        }
        hits.sort_by_key(|hit| hit.n);
        more |= hits.len() > count;
        hits.truncate(count);
        Ok(LogHits { hits, more, is_given_up: false })
    }

    /// Returns the merged outputs.
    pub fn logs(&self) -> &[LogOutput] {
        &self.logs
    }
}

/// Returns the part of a stretch between two numbers of merged lines.
fn cut(stretch: LineStretch, skipped: u64, end: u64) -> LineStretch {
    let before = skipped.saturating_sub(stretch.before).min(stretch.count);
    let behind = (stretch.before + stretch.count).saturating_sub(end).min(stretch.count - before);
    LineStretch {
        first: stretch.first + before,
        before: stretch.before + before,
        count: stretch.count - before - behind,
        ..stretch
    }
}

/// Adds the lines of a log, those with one time together.
fn add_stretches(
    stretches: &mut Vec<LineStretch>,
    place: usize,
    log: &LogOutput,
    live_at: Option<Moment>,
) -> io::Result<()> {
    let bytes = log.log_bytes();
    let arrivals = bytes.arrivals(0, bytes.length())?;
    let mut arrivals = arrivals.iter().peekable();
    let mut at = log.started().unwrap_or(Moment::from_millis(0));
    let (mut line, begun) = (0, stretches.len());
    let mut is_settled = true;
    each_line(log, |start, is_ended| {
        while arrivals.next_if(|arrival| arrival.offset + arrival.length <= start).is_some() {}
        let arrival = arrivals.peek().filter(|arrival| arrival.offset <= start);
        is_settled &= live_at.is_none_or(|now| {
            is_ended && arrival.is_some_and(|arrival| arrival.at.after(SETTLING_TIME) <= now)
        });
        if !is_settled {
            return false;
        }
        at = arrival.map_or(at, |arrival| arrival.at.max(at));
        line += 1;
        match stretches.get_mut(begun..).and_then(<[_]>::last_mut) {
            Some(last) if last.at == at => last.count += 1,
            _ => stretches.push(LineStretch { at, log: place, first: line, count: 1, before: 0 }),
        }
        true
    })
}

/// Passes on the offset of each line, and whether it has an end, until one is not wanted.
fn each_line(log: &LogOutput, mut give: impl FnMut(u64, bool) -> bool) -> io::Result<()> {
    let (bytes, mut buffer) = (log.log_bytes(), vec![0; READ_BYTES]);
    let (mut position, mut start) = (0, 0);
    loop {
        let count = bytes.read_at(&mut buffer, position)?;
        for at in memchr::memchr_iter(b'\n', buffer.get(..count).unwrap_or_default()) {
            if !give(start, true) {
                return Ok(());
            }
            start = position + at as u64 + 1;
        }
        position += count as u64;
        if count == 0 {
            if start < position {
                give(start, false);
            }
            return Ok(());
        }
    }
}
