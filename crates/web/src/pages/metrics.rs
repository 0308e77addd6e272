use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    extract::{Request, State},
    http::{
        StatusCode,
        header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
};

use crate::{guard, respond, site::Site};
use wf_app::views::{MetricsFormat, WorkspaceMetrics, metrics_text};
use wf_base::digest::Sha256Digest;

/// The metrics of a workspace, as far as they are counted, and who may read them without a login.
pub(crate) struct CountedMetrics {
    counted: Mutex<WorkspaceMetrics>,
    token: Option<Sha256Digest>,
}

impl CountedMetrics {
    /// Creates the page; a program sending the token may read it.
    pub fn new(token: Option<&str>) -> Arc<Self> {
        let token = token.map(|token| Sha256Digest::of_bytes(token.as_bytes()));
        Arc::new(Self { counted: Mutex::default(), token })
    }

    /// Creates the same page of another workspace.
    pub fn beside(&self) -> Arc<Self> {
        Arc::new(Self { counted: Mutex::default(), token: self.token })
    }

    /// True if a request has the token.
    fn admits(&self, request: &Request) -> bool {
        let sent = guard::bearer(request.headers());
        // Digests are compared: the time that it takes says nothing about the token.
        sent.is_some_and(|sent| self.token == Some(Sha256Digest::of_bytes(sent.as_bytes())))
    }
}

pub(crate) async fn metrics(State(site): State<Site>, request: Request) -> Response {
    let has_login = guard::login_key(&site, request.headers())
        .is_some_and(|key| site.logins.find(key, site.host().now()).is_some());
    if !has_login && !request.headers().contains_key(AUTHORIZATION) {
        return unauthorized();
    }
    let now = site.host().now();
    if !has_login && let Some(wait) = site.logins.wait_for_token(now) {
        let (status, reason) = (StatusCode::TOO_MANY_REQUESTS, "Too many tokens were wrong.");
        return respond::too_many(&site, request.headers(), status, reason, wait);
    }
    if !has_login && !site.metrics.admits(&request) {
        site.logins.count_wrong_token(now);
        return unauthorized();
    }
    if let Err(error) = site.check_folder() {
        return respond::failure(&site, &error);
    }
    let accepted = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let format = MetricsFormat::accepted(accepted);
    let page = Arc::clone(&site.metrics);
    let text = site.read(move |caller| {
        let mut counted = page.counted.lock().unwrap_or_else(PoisonError::into_inner);
        metrics_text(caller, &mut counted, format)
    });
    match text.await {
        Ok(text) => ([(CONTENT_TYPE, format.content_type())], text).into_response(),
        Err(error) => respond::failure(&site, &error),
    }
}

fn unauthorized() -> Response {
    let reason = "send the token of `wf serve --metrics-token FILE` as a bearer token, or log in\n";
    respond::plain(StatusCode::UNAUTHORIZED, reason)
}
