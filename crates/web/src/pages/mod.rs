//! The pages: each reads one view and renders it.
//!
//! **Invariant:** reading a page changes nothing. Only [`review`] and [`goals`] record signed answers, and [`goals`],
//! [`run`] and [`secrets`] the requests of a browser allowed to operate, and its secrets.

pub(crate) mod audit;
pub(crate) mod goals;
pub(crate) mod keys;
pub(crate) mod log;
pub(crate) mod login;
pub(crate) mod memory;
pub(crate) mod metrics;
pub(crate) mod review;
pub(crate) mod run;
pub(crate) mod secrets;

use axum::{
    extract::State,
    http::header::{CONTENT_TYPE, HeaderMap},
    response::{IntoResponse, Response},
};

use crate::{changes, limits::no_stream, site::Site};

/// The style of all pages.
pub(crate) async fn style() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("../assets/style.css"))
}

/// The script asking for a page again when the log has grown.
pub(crate) async fn script() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("../assets/live.js"))
}

/// The script that signs answers.
pub(crate) async fn sign_script() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("../assets/sign.js"))
}

/// The script of the key of a browser.
pub(crate) async fn key_script() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("../assets/key.js"))
}

/// The script that signs for goals.
pub(crate) async fn goal_script() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("../assets/goal.js"))
}

/// The stream of news.
pub(crate) async fn events(State(site): State<Site>, headers: HeaderMap) -> Response {
    match site.limits.open_stream() {
        Some(place) => changes::event_stream(site.log, place).into_response(),
        None => no_stream(&site, &headers),
    }
}
