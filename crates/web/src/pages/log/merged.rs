//! The output of a run by line, of all its steps or of one, for the script of its page.

use axum::{
    extract::{Path, State},
    response::Response,
};
use serde::Deserialize;

use super::lines::{DEFAULT_COUNT, DEFAULT_HITS, answer_search, document};
use crate::{caller::PageCaller, query::PageQuery, site::Site};
use wf_app::views::{LogPattern, RunOutputQuery, run_output_lines, search_run_output};

/// Some lines of the output of a run, as the address has them.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct RunLinesQuery {
    /// The only step; empty: all.
    #[serde(default)]
    step: String,
    /// The first line, from 1; absent: the last lines.
    from: Option<u64>,
    count: Option<u64>,
}

/// Lines of the output of a run, as JSON.
pub(crate) async fn run_lines(
    State(site): State<Site>,
    Path(run): Path<String>,
    PageQuery(query): PageQuery<RunLinesQuery>,
) -> Response {
    let read = site.read(move |caller| {
        let RunLinesQuery { step, from, count } = query;
        let query = RunOutputQuery { step, from, ..RunOutputQuery::default() };
        let lines = run_output_lines(caller, &run, &query, count.unwrap_or(DEFAULT_COUNT))?;
        Ok(lines.map(|lines| lines.document()))
    });
    document(&site, read.await)
}

/// A search in the output of a run, as the address has it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct RunSearchQuery {
    /// The only step; empty: all.
    #[serde(default)]
    step: String,
    q: String,
    /// Not empty: it is an expression.
    #[serde(default)]
    regex: String,
    /// The line before the searched ones.
    #[serde(default)]
    after: u64,
    count: Option<usize>,
}

/// The lines with a hit in the output of a run, as JSON.
pub(crate) async fn run_search(
    State(site): State<Site>,
    Path(run): Path<String>,
    PageQuery(query): PageQuery<RunSearchQuery>,
) -> Response {
    let RunSearchQuery { step, q, regex, after, count } = query;
    let search = move |caller: &PageCaller, pattern: &LogPattern| {
        search_run_output(caller, &run, &step, pattern, after, count.unwrap_or(DEFAULT_HITS))
    };
    answer_search(&site, &q, !regex.is_empty(), search).await
}
