use axum::response::Response;

use crate::visit::Visit;

/// The keys of the browser, which the browser and its device alone have.
pub(crate) async fn key(visit: Visit) -> Response {
    visit.show("key.html", |_| Ok(Some(()))).await
}
