use axum::extract::State;
use axum::response::Response;

use crate::respond;
use crate::site::Site;
use wf_app::views::stream_view;

/// The overview: the latest runs, the goals, and the requests that wait for people.
pub(crate) async fn stream(State(site): State<Site>) -> Response {
    respond::view(&site, "stream.html", |caller| stream_view(caller).map(Some)).await
}
