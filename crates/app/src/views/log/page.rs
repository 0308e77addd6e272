//! A page of the output of an attempt, for readers without scripts: all of it can be read and searched there.

use serde::Serialize;

use super::{LogHits, LogLines, LogPattern, log_output};
use crate::{Caller, CommandError};
use wf_base::{keywords, name::RunId};

/// The lines of a page.
const PAGE_LINES: u64 = 1_000;

/// The most hits that a page lists.
const PAGE_HITS: usize = 100;

keywords! {
    /// The times before the lines of an output.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum LineTimes {
        #[default]
        Hidden = "hidden",
        /// Since the start of the attempt.
        Elapsed = "elapsed",
        /// Of a clock, in UTC.
        Clock = "clock",
    }
}

/// A choice of what a page shows of the output of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputQuery {
    pub attempt: u32,
    /// The first line, from 1.
    pub from: u64,
    /// The text or expression to search for; empty: nothing.
    pub text: String,
    /// True if it is an expression.
    pub is_regex: bool,
    /// The line behind which it is searched.
    pub after: u64,
    pub times: LineTimes,
}

/// A part of the output of an attempt, with what was searched in it.
#[derive(Debug, Serialize)]
pub struct OutputView {
    pub run: RunId,
    /// The task, as an address names it.
    pub address: String,
    pub attempt: u32,
    #[serde(flatten)]
    pub shown: LogLines,
    /// The first line of the page before; `None`: there is none.
    pub earlier: Option<u64>,
    /// The first line of the next page.
    pub later: Option<u64>,
    /// The text or expression that is searched for; empty: nothing.
    pub text: String,
    pub is_regex: bool,
    /// The word for the times before its lines.
    pub times: &'static str,
    /// The lines in which it is found; `None`: nothing was searched.
    pub found: Option<FoundLines>,
    /// The reason why nothing was searched; empty: none.
    pub problem: String,
}

/// The lines in which something is found.
#[derive(Debug, Serialize)]
pub struct FoundLines {
    #[serde(flatten)]
    pub list: LogHits,
    /// The line behind which there may be more; `None`: these are all.
    pub after: Option<u64>,
}

impl FoundLines {
    /// Returns the found lines, with the place of the others.
    pub fn new(list: LogHits) -> Self {
        let after = list.hits.last().filter(|_| list.more).map(|hit| hit.n);
        Self { list, after }
    }
}

/// Returns a page of the output of an attempt; `None`: there is no such attempt.
pub fn output_view(
    caller: &dyn Caller,
    run: &str,
    task: &str,
    query: OutputQuery,
) -> Result<Option<OutputView>, CommandError> {
    let Some(output) = log_output(caller, run, task, query.attempt)? else {
        return Ok(None);
    };
    let shown = output.lines(Some(query.from), PAGE_LINES)?;
    let (mut found, mut problem) = (None, String::new());
    if !query.text.is_empty() {
        match LogPattern::parse(&query.text, query.is_regex) {
            Ok(pattern) => match output.search(caller, &pattern, query.after, PAGE_HITS)? {
                Ok(list) => found = Some(FoundLines::new(list)),
                Err(reason) => problem = reason,
            },
            Err(reason) => problem = reason,
        }
    }
    let last = shown.first + shown.lines.len() as u64;
    Ok(Some(OutputView {
        run: output.run().clone(),
        address: output.attempt().task_id.to_string(),
        attempt: query.attempt,
        earlier: (shown.first > 1).then(|| shown.first.saturating_sub(PAGE_LINES).max(1)),
        later: (last <= shown.total).then_some(last),
        shown,
        text: query.text,
        is_regex: query.is_regex,
        times: query.times.as_str(),
        found,
        problem,
    }))
}
