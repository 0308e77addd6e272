//! The output of an attempt by line. A browser asks for the lines that it shows, and the server searches: a log may be
//! larger than what a browser can hold.

use axum::{
    Json,
    extract::{Path, State},
    http::{StatusCode, header::LOCATION},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use serde_json::Value;

use crate::{caller::PageCaller, query::PageQuery, respond, site::Site, visit::Visit};
use wf_app::{
    CommandError,
    views::{LineTimes, LogHits, LogPattern, OutputQuery, log_output, output_view},
};
use wf_base::keyword::Keyword as _;

/// The lines of an answer if the address has no number.
pub(super) const DEFAULT_COUNT: u64 = 500;

/// The hits of an answer if the address has no number.
pub(super) const DEFAULT_HITS: usize = 500;

/// The expression for lines with an error.
const ERRORS: &str = "error|fail|panic|exception";

/// Some lines of an attempt, as the address has them.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct LinesQuery {
    attempt: u32,
    /// The first line, from 1; absent: the last lines.
    from: Option<u64>,
    count: Option<u64>,
}

/// Lines of the output of an attempt, as JSON.
pub(crate) async fn lines(
    State(site): State<Site>,
    Path((run, task)): Path<(String, String)>,
    PageQuery(query): PageQuery<LinesQuery>,
) -> Response {
    let read = site.read(move |caller| {
        let Some(output) = log_output(caller, &run, &task, query.attempt)? else {
            return Ok(None);
        };
        let lines = output.lines(query.from, query.count.unwrap_or(DEFAULT_COUNT))?;
        Ok(Some(lines.document()))
    });
    document(&site, read.await)
}

/// A search in the output of an attempt, as the address has it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct LogSearchQuery {
    attempt: u32,
    q: String,
    /// Not empty: it is an expression.
    #[serde(default)]
    regex: String,
    /// The line behind which it is searched.
    #[serde(default)]
    after: u64,
    count: Option<usize>,
}

/// The lines of the output of an attempt in which something is found, as JSON.
pub(crate) async fn search(
    State(site): State<Site>,
    Path((run, task)): Path<(String, String)>,
    PageQuery(query): PageQuery<LogSearchQuery>,
) -> Response {
    let LogSearchQuery { attempt, q, regex, after, count } = query;
    let search = move |caller: &PageCaller, pattern: &LogPattern| {
        let Some(output) = log_output(caller, &run, &task, attempt)? else {
            return Ok(None);
        };
        output.search(caller, pattern, after, count.unwrap_or(DEFAULT_HITS)).map(Some)
    };
    answer_search(&site, &q, !regex.is_empty(), search).await
}

/// Answers a search for a text, or for an expression: with its hits, or with the reason why there are none. `None`: there is
/// nothing to search in.
pub(super) async fn answer_search<S>(site: &Site, text: &str, is_regex: bool, search: S) -> Response
where
    S: FnOnce(&PageCaller, &LogPattern) -> Result<Option<Result<LogHits, String>>, CommandError>
        + Send
        + 'static,
{
    let refused = |reason: String| respond::plain(StatusCode::BAD_REQUEST, &format!("{reason}\n"));
    let pattern = match LogPattern::parse(text, is_regex) {
        Ok(pattern) => pattern,
        Err(reason) => return refused(reason),
    };
    let Some(place) = site.place_for_search() else {
        let reason = "other searches are under way: try again in a moment\n";
        return respond::plain(StatusCode::SERVICE_UNAVAILABLE, reason);
    };
    let read = site.read(move |caller| {
        let _place = place;
        search(caller, &pattern)
    });
    match read.await.map(Option::transpose) {
        Ok(Ok(hits)) => document(site, Ok(hits.map(|hits| hits.document()))),
        Ok(Err(reason)) => refused(reason),
        Err(error) => document(site, Err(error)),
    }
}

/// Answers with a document.
pub(super) fn document(site: &Site, document: Result<Option<Value>, CommandError>) -> Response {
    match document {
        Ok(Some(document)) => Json(document).into_response(),
        Ok(None) => respond::missing(site),
        Err(error) => respond::failure(site, &error),
    }
}

/// A page of the output of an attempt, as the address has it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct OutputPageQuery {
    attempt: u32,
    from: Option<u64>,
    #[serde(default)]
    q: String,
    #[serde(default)]
    regex: String,
    #[serde(default)]
    after: u64,
    /// The word for the times before the lines.
    #[serde(default)]
    times: String,
    /// `error`: it leads to the first line with an error.
    #[serde(default)]
    jump: String,
}

/// Leads to the first line of the output of an attempt with an error; to a search without hits, if there is none.
async fn jump_to_error(visit: &Visit, run: String, task: String, attempt: u32) -> Response {
    let (Some(place), Ok(pattern)) = (visit.site.place_for_search(), LogPattern::parse(ERRORS, true)) else {
        return respond::busy(&visit.site, "Other searches are under way.");
    };
    let read = visit.site.read(move |caller| {
        let _place = place;
        let output = log_output(caller, &run, &task, attempt)?;
        output.map(|output| output.search(caller, &pattern, 0, 1)).transpose()
    });
    let page = match read.await {
        Ok(Some(Ok(found))) if !found.hits.is_empty() => {
            let line = found.hits.first().map_or(1, |hit| hit.n);
            format!("?attempt={attempt}&from={}#L{line}", line.saturating_sub(10).max(1))
        }
        Ok(Some(_)) => format!("?attempt={attempt}&regex=on&q={}", ERRORS.replace('|', "%7C")),
        Ok(None) => return respond::missing(&visit.site),
        Err(error) => return respond::failure(&visit.site, &error),
    };
    (StatusCode::SEE_OTHER, [(LOCATION, page)]).into_response()
}

/// The output of an attempt, a page of lines at a time, with what is found in all of it.
pub(crate) async fn output(
    visit: Visit,
    Path((run, task)): Path<(String, String)>,
    PageQuery(query): PageQuery<OutputPageQuery>,
) -> Response {
    let OutputPageQuery { attempt, from, q, regex, after, times, jump } = query;
    if jump == "error" {
        return jump_to_error(&visit, run, task, attempt).await;
    }
    let times = LineTimes::from_word(&times).unwrap_or_default();
    let is_regex = !regex.is_empty();
    let query = OutputQuery { attempt, from: from.unwrap_or(1), text: q, is_regex, after, times };
    let is_search = !query.text.is_empty();
    let place = if is_search { visit.site.place_for_search() } else { None };
    if is_search && place.is_none() {
        return respond::busy(&visit.site, "Other searches are under way.");
    }
    visit
        .show("output.html", move |caller| {
            let _place = place;
            output_view(caller, &run, &task, query)
        })
        .await
}
