use axum::extract::{Path, State};
use axum::response::Response;

use crate::respond;
use crate::site::Site;
use wf_app::views::{run_reader, task_view};

/// A task of a run: its attempts, checks and output.
pub(crate) async fn step(State(site): State<Site>, Path((run, task)): Path<(String, String)>) -> Response {
    respond::view(&site, "step.html", move |caller| {
        let Some((reader, run)) = run_reader(caller, &run)? else {
            return Ok(None);
        };
        task_view(&reader, &run, &task)
    })
    .await
}
