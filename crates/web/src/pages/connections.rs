use axum::extract::State;
use axum::response::Response;
use serde::Serialize;

use crate::respond;
use crate::site::Site;
use wf_app::views::{ConnectionView, connection_views};

#[derive(Serialize)]
struct ConnectionsView {
    connections: Vec<ConnectionView>,
}

/// The accounts at services.
pub(crate) async fn connections(State(site): State<Site>) -> Response {
    respond::view(&site, "connections.html", |caller| {
        Ok(Some(ConnectionsView { connections: connection_views(caller)? }))
    })
    .await
}
