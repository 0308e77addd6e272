use axum::response::Response;
use serde::Deserialize;
use wf_app::views::{home_view, search_view};

use crate::{query::PageQuery, visit::Visit};

/// The home page: what waits for people, what went wrong, what runs.
pub(crate) async fn home(visit: Visit) -> Response {
    visit.show("home.html", |caller| home_view(caller).map(Some)).await
}

/// The pages that have no place in the navigation of a small screen.
pub(crate) async fn more(visit: Visit) -> Response {
    visit.show("more.html", |_| Ok(Some(()))).await
}

/// The text that is searched for, as the address has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SearchText {
    pub q: String,
}

/// The search over all pages.
pub(crate) async fn search(visit: Visit, PageQuery(query): PageQuery<SearchText>) -> Response {
    visit.show("search.html", move |caller| search_view(caller, &query.q).map(Some)).await
}
