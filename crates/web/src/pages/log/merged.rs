//! The output of a run by line, with that of all its steps or of one, for the script of its page.

use axum::{
    extract::{Path, Query, State},
    http::StatusCode,
    response::Response,
};
use serde::Deserialize;

use super::lines::{DEFAULT_COUNT, DEFAULT_HITS, answer_busy, document};
use crate::{respond, site::Site};
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
    Query(query): Query<RunLinesQuery>,
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
    /// The line behind which it is searched.
    #[serde(default)]
    after: u64,
    count: Option<usize>,
}

/// The lines of the output of a run in which something is found, as JSON.
pub(crate) async fn run_search(
    State(site): State<Site>,
    Path(run): Path<String>,
    Query(query): Query<RunSearchQuery>,
) -> Response {
    let RunSearchQuery { step, q, regex, after, count } = query;
    let pattern = match LogPattern::parse(&q, !regex.is_empty()) {
        Ok(pattern) => pattern,
        Err(reason) => return respond::plain(StatusCode::BAD_REQUEST, &format!("{reason}\n")),
    };
    let Some(place) = site.place_for_search() else {
        return answer_busy();
    };
    let read = site.read(move |caller| {
        let _place = place;
        search_run_output(caller, &run, &step, &pattern, after, count.unwrap_or(DEFAULT_HITS))
    });
    match read.await.map(Option::transpose) {
        Ok(Ok(hits)) => document(&site, Ok(hits.map(|hits| hits.document()))),
        Ok(Err(reason)) => respond::plain(StatusCode::BAD_REQUEST, &format!("{reason}\n")),
        Err(error) => document(&site, Err(error)),
    }
}
