use axum::extract::State;
use axum::response::Response;

use crate::respond;
use crate::site::Site;

/// The key of the browser, which the browser alone has.
pub(crate) async fn key(State(site): State<Site>) -> Response {
    respond::page(&site, "key.html", Ok(Some(())))
}
