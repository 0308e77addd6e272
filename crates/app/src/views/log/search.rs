//! The lines of a log in which a text or an expression is found, as a terminal leaves them. An expression takes time in
//! proportion to its own size and to that of the log: a search that takes too long is given up, and says so.

use std::{io, time::Duration};

use regex::{RegexBuilder, bytes};
use serde::Serialize;
use serde_json::{Value, json};

use super::{LogOutput, lines::MAX_LINE_BYTES};
use crate::{Caller, CommandError};
use wf_base::{time::Moment, untrusted::UntrustedText};
use wf_exec::log::LogBytes;

/// The time after which a search is given up.
const SEARCH_TIME: Duration = Duration::from_secs(3);

/// The most hits of one answer.
const MAX_HITS: usize = 500;

/// The longest text or expression, in bytes.
const MAX_PATTERN_BYTES: usize = 1_000;

/// The largest compiled expression, in bytes.
const MAX_REGEX_SIZE: usize = 256 * 1024;

/// The most bytes of a line in which an expression is searched.
const MAX_MATCHED_BYTES: usize = 64 * 1024;

/// The number of bytes looked through at once.
const READ_BYTES: usize = 256 * 1024;

/// The most bytes of a line looked through at once: a longer one is looked through in parts.
const MAX_HELD_BYTES: usize = 4 * 1024 * 1024;

/// The most characters of a line that a list of hits shows.
const MAX_EXCERPT: usize = 240;

/// A text or an expression to search for. Upper and lower case are the same.
#[derive(Debug)]
pub struct LogPattern {
    /// It for the bytes of a log.
    byte_regex: bytes::Regex,
    /// It for a line that is shown.
    regex: regex::Regex,
    /// True if it cannot reach beyond a line.
    is_within_line: bool,
}

impl LogPattern {
    /// Returns a pattern, or the reason why the text is none.
    pub fn parse(text: &str, is_regex: bool) -> Result<Self, String> {
        if text.is_empty() {
            return Err("there is nothing to search for".to_owned());
        }
        if text.len() > MAX_PATTERN_BYTES {
            return Err(format!("it is longer than {MAX_PATTERN_BYTES} bytes"));
        }
        let source = if is_regex { text.to_owned() } else { regex::escape(text) };
        let reason = |error: &regex::Error| match error {
            regex::Error::CompiledTooBig(_) => "the expression is too large".to_owned(),
            // Its last line says what is wrong, and those before it where.
            error => error.to_string().lines().last().unwrap_or_default().trim().to_owned(),
        };
        let regex = RegexBuilder::new(&source).case_insensitive(true).size_limit(MAX_REGEX_SIZE).build();
        let byte_regex =
            bytes::RegexBuilder::new(&source).case_insensitive(true).size_limit(MAX_REGEX_SIZE).build();
        Ok(Self {
            regex: regex.map_err(|error| reason(&error))?,
            byte_regex: byte_regex.map_err(|error| reason(&error))?,
            is_within_line: !is_regex && !text.contains('\n'),
        })
    }
}

/// A line in which a pattern is found.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct LineHit {
    /// Its number, from 1.
    pub n: u64,
    /// The place of the first occurrence in the shown line, counted as JavaScript counts; `None` if it is in what is not
    /// shown.
    pub at: Option<usize>,
    /// Its length.
    pub length: usize,
    /// The beginning of the line.
    pub excerpt: String,
}

/// The lines in which a pattern is found.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct LogHits {
    pub hits: Vec<LineHit>,
    /// True if there may be more behind the last one.
    pub more: bool,
    /// True if the search took too long, and was given up.
    #[serde(skip)]
    pub is_given_up: bool,
}

/// The end of the time for a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchDeadline(Moment);

impl SearchDeadline {
    /// Returns the deadline of a search from now on.
    pub fn of(caller: &dyn Caller) -> Self {
        Self(caller.host().now().after(SEARCH_TIME))
    }

    pub fn is_over(self, caller: &dyn Caller) -> bool {
        caller.host().now() > self.0
    }
}

impl LogHits {
    /// Returns them, or the reason why there are none: the search took too long.
    pub(super) fn unless_given_up(self) -> Result<Self, String> {
        let seconds = SEARCH_TIME.as_secs();
        let reason = || format!("the search took longer than {seconds} s: search for a text, or simplify it");
        if self.is_given_up { Err(reason()) } else { Ok(self) }
    }

    /// Returns them as programs get them.
    pub fn document(&self) -> Value {
        let hits: Vec<Value> =
            self.hits.iter().map(|hit| json!({"n": hit.n, "at": hit.at, "length": hit.length})).collect();
        json!({"hits": hits, "more": self.more})
    }
}

impl LogOutput {
    /// Returns the first lines behind line `after` in which a pattern is found, at most `count`; the reason, if that took too
    /// long.
    pub fn search(
        &self,
        caller: &dyn Caller,
        pattern: &LogPattern,
        after: u64,
        count: usize,
    ) -> Result<Result<LogHits, String>, CommandError> {
        let deadline = SearchDeadline::of(caller);
        let found = self.hits(pattern, after, count, &|| deadline.is_over(caller))?;
        Ok(found.unless_given_up())
    }

    /// Does the same, and gives up once `is_over`.
    pub(super) fn hits(
        &self,
        pattern: &LogPattern,
        after: u64,
        count: usize,
        is_over: &dyn Fn() -> bool,
    ) -> Result<LogHits, CommandError> {
        let (line, offset) = self.block_start(after);
        let most = count.clamp(1, MAX_HITS);
        let mut search = LineSearch { pattern, after, most, line, is_over, found: LogHits::default() };
        search.look_through(self.log_bytes(), offset).map_err(|error| self.unreadable(&error))?;
        Ok(search.found)
    }
}

/// A search on its way through a log.
struct LineSearch<'a> {
    pattern: &'a LogPattern,
    /// The number of the last line in which nothing is searched.
    after: u64,
    most: usize,
    /// The number of lines before those that are looked through.
    line: u64,
    /// True once it has taken too long.
    is_over: &'a dyn Fn() -> bool,
    found: LogHits,
}

impl LineSearch<'_> {
    fn look_through(&mut self, log_bytes: &LogBytes, start: u64) -> io::Result<()> {
        let mut position = start;
        let (mut held, mut plain) = (Vec::with_capacity(2 * READ_BYTES), Vec::new());
        loop {
            let length = held.len();
            held.resize(length + READ_BYTES, 0);
            let count = log_bytes.read_at(held.get_mut(length..).unwrap_or_default(), position)?;
            held.truncate(length + count);
            position += count as u64;
            let is_end = count == 0;
            let end = match memchr::memrchr(b'\n', &held) {
                Some(at) if !is_end => at + 1,
                None if !is_end && held.len() <= MAX_HELD_BYTES => 0,
                _ => held.len(),
            };
            let lines = held.get(..end).unwrap_or_default();
            let has_styles = memchr::memchr(b'\x1b', lines).is_some();
            if memchr::memchr(b'\r', lines).is_some() {
                self.look_at_each(lines);
            } else if has_styles {
                strip_styles(lines, &mut plain);
                self.look_at(&plain);
            } else {
                self.look_at(lines);
            }
            self.found.is_given_up |= !is_end && (self.is_over)();
            if is_end || self.found.more || self.found.is_given_up {
                return Ok(());
            }
            held.drain(..end);
        }
    }

    /// Looks through whole lines without styles and returns of the cursor.
    fn look_at(&mut self, lines: &[u8]) {
        if !self.pattern.is_within_line {
            return self.look_at_each(lines);
        }
        let mut at = 0;
        while let Some(found) = lines.get(at..).and_then(|rest| self.pattern.byte_regex.find(rest)) {
            let rest = lines.get(at..).unwrap_or_default();
            let before = rest.get(..found.start()).unwrap_or_default();
            self.line += memchr::memchr_iter(b'\n', before).count() as u64;
            let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
            let length = memchr::memchr(b'\n', rest.get(start..).unwrap_or_default());
            let end = length.map_or(rest.len(), |length| start + length);
            self.hit(rest.get(start..end).unwrap_or_default());
            if self.found.more {
                return;
            }
            self.line += u64::from(length.is_some());
            at += (end + 1).min(rest.len());
        }
        self.line += memchr::memchr_iter(b'\n', lines.get(at..).unwrap_or_default()).count() as u64;
    }

    /// Looks at each line apart.
    fn look_at_each(&mut self, lines: &[u8]) {
        let (mut rest, mut plain) = (lines, Vec::new());
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest);
            let mut line = last_writing(rest.get(..end.unwrap_or(rest.len())).unwrap_or_default());
            if memchr::memchr(b'\x1b', line).is_some() {
                strip_styles(line, &mut plain);
                line = &plain;
            }
            let matched = line.get(..MAX_MATCHED_BYTES).unwrap_or(line);
            let matched = if self.pattern.is_within_line { line } else { matched };
            if self.line >= self.after && self.pattern.byte_regex.is_match(matched) {
                self.hit(line);
                if self.found.more {
                    return;
                }
            }
            if !self.pattern.is_within_line && (self.is_over)() {
                self.found.is_given_up = true;
                return;
            }
            self.line += u64::from(end.is_some());
            rest = end.and_then(|end| rest.get(end + 1..)).unwrap_or_default();
        }
    }

    /// Records that the pattern is in the line that is looked at.
    fn hit(&mut self, line: &[u8]) {
        // A very long line is looked through in parts.
        let is_known = self.found.hits.last().is_some_and(|hit| hit.n == self.line + 1);
        if self.line < self.after || is_known {
            return;
        }
        if self.found.hits.len() == self.most {
            self.found.more = true;
            return;
        }
        let line = line.get(..MAX_LINE_BYTES).unwrap_or(line);
        let shown = UntrustedText::printed(line).block();
        let place = self.pattern.regex.find(&shown);
        let units = |text: &str| text.encode_utf16().count();
        self.found.hits.push(LineHit {
            n: self.line + 1,
            at: place.map(|place| units(shown.get(..place.start()).unwrap_or_default())),
            length: place.map_or(0, |place| units(place.as_str())),
            excerpt: shown.chars().take(MAX_EXCERPT).collect(),
        });
    }
}

/// Returns the bytes of a line that a terminal shows: those behind the last return of its cursor.
fn last_writing(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|byte| *byte != b'\r').map_or(0, |at| at + 1);
    let line = line.get(..end).unwrap_or_default();
    let start = memchr::memrchr(b'\r', line).map_or(0, |at| at + 1);
    line.get(start..).unwrap_or_default()
}

/// Removes the styles of a terminal from lines.
fn strip_styles(lines: &[u8], plain: &mut Vec<u8>) {
    plain.clear();
    let mut rest = lines;
    while let Some(at) = memchr::memchr(b'\x1b', rest) {
        let (before, code) = rest.split_at(at);
        plain.extend_from_slice(before);
        let body = code.strip_prefix(b"\x1b[").unwrap_or_default();
        let is_code = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b';' | b':');
        let length = body.iter().take_while(|byte| is_code(byte)).count();
        rest = if matches!(body.get(length), Some(b'm' | b'K')) {
            body.get(length + 1..).unwrap_or_default()
        } else {
            plain.push(b'\x1b');
            code.get(1..).unwrap_or_default()
        };
    }
    plain.extend_from_slice(rest);
}
