use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::site::Site;
use wf_app::CommandError;
use wf_base::untrusted;

/// Returns a short text, for requests that no page sends.
pub(crate) fn plain(status: StatusCode, text: &str) -> Response {
    (status, [(CONTENT_TYPE, "text/plain; charset=utf-8")], text.to_owned()).into_response()
}

/// Returns the page of a view; the page of its error if it could not be read.
pub(crate) fn page<T: Serialize>(
    site: &Site,
    template: &str,
    view: Result<Option<T>, CommandError>,
) -> Response {
    match view {
        Ok(Some(view)) => site.templates.page(site, template, &view),
        Ok(None) => missing(site),
        Err(error) => failure(site, &error),
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
    site.templates.refusal(
        StatusCode::INTERNAL_SERVER_ERROR,
        "The page cannot be shown",
        &untrusted::plain(&error.render()),
    )
}

/// Says why a signature does not count, and what to do.
pub(crate) fn uncounted(error: &CommandError) -> Response {
    plain(StatusCode::CONFLICT, &untrusted::plain(&error.render()))
}

/// Leads to the page that shows what was done, or says why nothing was done.
pub(crate) fn done(site: &Site, page: Result<String, CommandError>) -> Response {
    match page {
        Ok(page) => (StatusCode::SEE_OTHER, [(LOCATION, page)]).into_response(),
        Err(error) => {
            let told = untrusted::plain(&error.render());
            // The problems of a file are not part of the error: a command prints them.
            let reason = if told.is_empty() {
                "Its file has problems. To see them: wf check".to_owned()
            } else {
                told
            };
            site.templates.refusal(StatusCode::CONFLICT, "Nothing was done", &reason)
        }
    }
}

/// Answers requests for other addresses.
pub(crate) async fn no_page(State(site): State<Site>) -> Response {
    missing(&site)
}
