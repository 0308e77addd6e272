use std::time::Duration;

use axum::{
    BoxError, Extension, Json,
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    http::{
        StatusCode, Uri,
        header::{ACCEPT, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, LOCATION, RETRY_AFTER},
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::{Stream, StreamExt as _};
use serde::Serialize;

use crate::{
    api::{self, problem::ApiError},
    guard::login_key,
    site::Site,
    visit::wants_json,
};
use wf_app::{CliExitCode, CommandError};
use wf_base::untrusted;

/// The longest text of the framework about a refusal, in bytes.
const MAX_REASON: usize = 4 * 1024;

/// The reason of a refusal, as a program reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RefusalReason {
    pub error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl RefusalReason {
    /// Reads the text of a failure, with its hints.
    pub fn of_text(text: &str) -> Self {
        let (error, remedy) = match text.trim().split_once("\nhint: ") {
            Some((error, hints)) => (error, Some(hints.replace("\nhint: ", "\n"))),
            None => (text.trim(), None),
        };
        Self { error: error.strip_prefix("error: ").unwrap_or(error).to_owned(), remedy }
    }

    /// Returns what a page with a title and a message says.
    pub fn of_page(status: StatusCode, title: &str, message: &str) -> Self {
        let is_help =
            matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND);
        if message.starts_with("error: ") {
            Self::of_text(message)
        } else if is_help {
            Self { error: title.to_owned(), remedy: Some(message.to_owned()) }
        } else {
            Self { error: format!("{title}: {message}"), remedy: None }
        }
    }
}

/// Answers a program with the reason of a refusal as JSON, in place of the page that says it: in the form of the interface for
/// programs, if it asks there.
pub(crate) async fn answer_programs(request: Request, next: Next) -> Response {
    let is_api = api::is_address(request.uri().path());
    let wants_json = is_api || wants_json(request.headers());
    let response = next.run(request).await;
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let is_refusal = status.is_client_error() || status.is_server_error();
    if !wants_json || !is_refusal || kind.starts_with(b"application/json") {
        return response;
    }
    let wait = response.headers().get(RETRY_AFTER).cloned();
    let reason = refusal_reason(response).await;
    let mut answer = if is_api {
        ApiError::of_reason(status, reason).into_response()
    } else {
        (status, Json(reason)).into_response()
    };
    if let Some(wait) = wait {
        answer.headers_mut().insert(RETRY_AFTER, wait);
    }
    answer
}

/// Returns the reason of a refusal: that of this program, or the text of the framework, which says what it could not read.
async fn refusal_reason(mut response: Response) -> RefusalReason {
    let status = response.status();
    if let Some(reason) = response.extensions_mut().remove::<RefusalReason>() {
        return reason;
    }
    let is_text =
        response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/plain"));
    let text = if is_text {
        to_bytes(response.into_body(), MAX_REASON).await.unwrap_or_default()
    } else {
        Bytes::new()
    };
    let text = untrusted::plain(&String::from_utf8_lossy(&text));
    let text = if text.trim().is_empty() { status.canonical_reason().unwrap_or("refused") } else { &text };
    RefusalReason::of_text(text)
}

/// Returns a short text, for requests no page sends.
pub(crate) fn plain(status: StatusCode, text: &str) -> Response {
    let reason = Extension(RefusalReason::of_text(text));
    (status, [(CONTENT_TYPE, "text/plain; charset=utf-8")], reason, text.to_owned()).into_response()
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
        "The address may be incomplete, or name what was removed. The search finds what is there.",
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
    plain(StatusCode::CONFLICT, &failure_text(site, error))
}

/// Leads to the page of the workspace showing the effect, or the reason for none.
pub(crate) fn done(site: &Site, page: Result<String, CommandError>) -> Response {
    match page {
        Ok(page) => (StatusCode::SEE_OTHER, [(LOCATION, site.page(&page))]).into_response(),
        Err(error) => {
            site.templates.refusal(StatusCode::CONFLICT, "Nothing was done", &failure_text(site, &error))
        }
    }
}

/// Returns a body of parts, one by one. A layer may ask for more behind its end.
pub(crate) fn streamed<B, E>(parts: impl Stream<Item = Result<B, E>> + Send + 'static) -> Body
where
    B: Into<Bytes> + 'static,
    E: Into<BoxError> + 'static,
{
    Body::from_stream(parts.fuse())
}

/// Returns the text of a failure. The problems of a file are no part of it: a command prints them.
pub(crate) fn failure_text(site: &Site, error: &CommandError) -> String {
    let text = untrusted::plain(&site.failure_text(error));
    if text.is_empty() { "Its file has problems. To see them: wf check".to_owned() } else { text }
}

/// Returns the page for something that takes long, while too much of it is under way.
pub(crate) fn busy(site: &Site, reason: &str) -> Response {
    let message = format!("{reason} Load the page again in a moment.");
    site.templates.refusal(StatusCode::SERVICE_UNAVAILABLE, "Too much at once", &message)
}

/// Answers requests for other addresses.
pub(crate) async fn no_page(State(site): State<Site>, headers: HeaderMap, uri: Uri) -> Response {
    if api::is_address(uri.path()) {
        let prefix = api::PREFIX;
        let remedy = if site.is_entrance() {
            format!("each workspace has its own, below /w/NAME{prefix}; GET {prefix}/workspaces lists them")
        } else {
            format!("GET {prefix}/openapi.json has all addresses")
        };
        return ApiError::new(StatusCode::NOT_FOUND, "there is no such address")
            .remedy(remedy)
            .into_response();
    }
    let key = login_key(&site, &headers).filter(|_| site.is_entrance());
    if key.is_none_or(|key| !site.logins.is_open(key, site.host().now())) {
        return missing(&site);
    }
    // Only those who were let in are told what is here.
    let bases: Vec<String> = site.workspaces.iter().map(|workspace| format!("{}/", workspace.base)).collect();
    let remedy =
        format!("The pages of each workspace of this server are below its address: {}.", bases.join(", "));
    site.templates.refusal(StatusCode::NOT_FOUND, "There is no such page of all workspaces", &remedy)
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

#[cfg(test)]
mod tests {
    use super::RefusalReason;
    use axum::http::StatusCode;

    #[test]
    fn a_program_reads_what_is_wrong_and_what_to_do() {
        let reason = |error: &str, remedy: Option<&str>| RefusalReason {
            error: error.into(),
            remedy: remedy.map(str::to_owned),
        };
        assert_eq!(
            RefusalReason::of_text("error: run 1a is gone\nhint: start another\nhint: or not\n"),
            reason("run 1a is gone", Some("start another\nor not"))
        );
        let page = RefusalReason::of_page;
        assert_eq!(page(StatusCode::NOT_FOUND, "Gone", "Look."), reason("Gone", Some("Look.")));
        assert_eq!(
            page(StatusCode::CONFLICT, "Not stored", "it is there"),
            reason("Not stored: it is there", None)
        );
        assert_eq!(page(StatusCode::CONFLICT, "Nothing", "error: a\nhint: b"), reason("a", Some("b")));
    }
}
