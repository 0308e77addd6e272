use axum::extract::{Path, State};
use axum::response::Response;

use crate::respond;
use crate::site::Site;
use wf_app::ActOrigin;
use wf_app::suggestions::{dismiss_suggestion, request_suggestion};

/// Starts the plan of a suggestion, and leads to the run.
pub(crate) async fn accept(State(site): State<Site>, Path(number): Path<u32>) -> Response {
    let begun = site.execute(move |caller| request_suggestion(caller, number)).await;
    respond::done(&site, begun.map(|run| format!("/runs/{run}")))
}

/// Dismisses a suggestion.
pub(crate) async fn dismiss(State(site): State<Site>, Path(number): Path<u32>) -> Response {
    let done = site.change(move |caller| dismiss_suggestion(caller, number, ActOrigin::Browser)).await;
    respond::done(&site, done.map(|_| "/review".to_owned()))
}
