use axum::extract::State;
use axum::response::Response;

use crate::respond;
use crate::site::Site;

/// The keys of the browser, which the browser and its device alone have.
pub(crate) async fn key(State(site): State<Site>) -> Response {
    respond::view(&site, "key.html", |_| Ok(Some(()))).await
}
