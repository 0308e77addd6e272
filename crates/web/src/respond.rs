use std::time::Duration;

use axum::{
    extract::{Request, State},
    http::{
        StatusCode,
        header::{ACCEPT, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, LOCATION, RETRY_AFTER},
    },
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::site::Site;
use wf_app::{CliExitCode, CommandError};
use wf_base::untrusted;

/// Returns a short text, for requests no page sends.
pub(crate) fn plain(status: StatusCode, text: &str) -> Response {
    (status, [(CONTENT_TYPE, "text/plain; charset=utf-8")], text.to_owned()).into_response()
}

/// Answers that a page is the one that the browser has, if it is.
pub(crate) async fn answer_unchanged(request: Request, next: Next) -> Response {
    let known = request.headers().get(IF_NONE_MATCH).cloned();
    let response = next.run(request).await;
    match (known, response.headers().get(ETAG)) {
        (Some(known), Some(tag)) if known == *tag => {
            (StatusCode::NOT_MODIFIED, [(ETAG, known)]).into_response()
        }
        _ => response,
    }
}

/// Returns the page for something that is not there.
pub(crate) fn missing(site: &Site) -> Response {
    site.templates.refusal(
        StatusCode::NOT_FOUND,
        "There is no such page",
        "The run may have been deleted by the retention rules, or the address is incomplete.",
    )
}

/// Returns the page for a state that cannot be read.
pub(crate) fn failure(site: &Site, error: &CommandError) -> Response {
    let status = match error.exit {
        CliExitCode::State => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    site.templates.refusal(status, "The page cannot be shown", &untrusted::plain(&site.failure_text(error)))
}

/// Says why a signature does not count, and what to do.
pub(crate) fn uncounted(site: &Site, error: &CommandError) -> Response {
    plain(StatusCode::CONFLICT, &untrusted::plain(&site.failure_text(error)))
}

/// Leads to the page showing the effect, or the reason for none.
pub(crate) fn done(site: &Site, page: Result<String, CommandError>) -> Response {
    match page {
        Ok(page) => (StatusCode::SEE_OTHER, [(LOCATION, page)]).into_response(),
        Err(error) => {
            let message = untrusted::plain(&site.failure_text(&error));
            // The problems of a file are not part of the error: a command prints them.
            let reason = if message.is_empty() {
                "Its file has problems. To see them: wf check".to_owned()
            } else {
                message
            };
            site.templates.refusal(StatusCode::CONFLICT, "Nothing was done", &reason)
        }
    }
}

/// Returns the page for something that takes long, while too much of it is under way.
pub(crate) fn busy(site: &Site, reason: &str) -> Response {
    let message = format!("{reason} Load the page again in a moment.");
    site.templates.refusal(StatusCode::SERVICE_UNAVAILABLE, "Too much at once", &message)
}

/// Answers requests for other addresses.
pub(crate) async fn no_page(State(site): State<Site>) -> Response {
    missing(&site)
}

/// Refuses a request at a time of too many, or too soon after others, and says when to send it again: with a
/// page, if the browser asks for one.
pub(crate) fn too_many(
    site: &Site,
    headers: &HeaderMap,
    status: StatusCode,
    reason: &str,
    wait: Duration,
) -> Response {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let message = format!("{reason} Try again in {seconds} s.");
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut response = if accepts.contains("text/html") {
        site.templates.refusal(status, "Too many requests", &message)
    } else {
        plain(status, &(message + "\n"))
    };
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}
