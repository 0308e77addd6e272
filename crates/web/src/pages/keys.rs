use axum::{extract::State, response::Response};

use crate::{respond, site::Site};

/// The keys of the browser, which the browser and its device alone have.
pub(crate) async fn key(State(site): State<Site>) -> Response {
    respond::view(&site, "key.html", |_| Ok(Some(()))).await
}
