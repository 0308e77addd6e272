//! The pages: each reads one view and renders it.
//!
//! **Invariant:** reading a page changes nothing. Only [`inbox`], [`goals`] and [`enrol`] record what a person signed, [`goals`], [`run`], [`runs`] and
//! [`secrets`] the requests of a browser allowed to operate, and its secrets, and [`plans`] what a browser starts.

pub(crate) mod audit;
pub(crate) mod enrol;
pub(crate) mod exchange;
pub(crate) mod files;
pub(crate) mod goals;
pub(crate) mod home;
pub(crate) mod inbox;
pub(crate) mod keys;
pub(crate) mod log;
pub(crate) mod login;
pub(crate) mod memory;
pub(crate) mod metrics;
pub(crate) mod plans;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod secrets;
pub(crate) mod workspaces;

use axum::{
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response},
};

use crate::{changes, guard::login_key, limits::no_stream, site::Site};

/// The stream of news.
pub(crate) async fn events(State(site): State<Site>, headers: HeaderMap) -> Response {
    let Some(place) = site.limits.open_stream() else {
        return no_stream(&site, &headers);
    };
    let key = login_key(&site, &headers).unwrap_or_default().to_owned();
    changes::event_stream(&site, key, place).into_response()
}
