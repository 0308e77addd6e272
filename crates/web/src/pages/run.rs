use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::respond;
use crate::site::Site;
use wf_app::views::{StepFilter, find_run, run_picture, run_view, state_reader};

/// The filter of the tasks, as the address has it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct TasksQuery {
    /// The word for a state; empty: every state.
    #[serde(default)]
    state: String,
    /// The number of the page, from 0.
    #[serde(default)]
    page: usize,
}

/// A run.
pub(crate) async fn run(
    State(site): State<Site>,
    Path(run): Path<String>,
    Query(query): Query<TasksQuery>,
) -> Response {
    let view = site.read(move |caller| {
        let Some(reader) = state_reader(caller)? else {
            return Ok(None);
        };
        let filter = StepFilter::of(&query.state, query.page);
        find_run(&reader, &run)?.map(|run| run_view(&reader, &run, filter)).transpose()
    });
    respond::page(&site, "run.html", view.await)
}

/// The picture of the plan of a run, with the states of its steps.
pub(crate) async fn picture(State(site): State<Site>, Path(run): Path<String>) -> Response {
    let drawn = site.read(move |caller| {
        let Some(reader) = state_reader(caller)? else {
            return Ok(None);
        };
        Ok(find_run(&reader, &run)?.map(|run| run_picture(&reader, &run)).transpose()?.flatten())
    });
    match drawn.await {
        Ok(Some(svg)) => ([(CONTENT_TYPE, "image/svg+xml")], svg).into_response(),
        Ok(None) => respond::missing(&site),
        Err(error) => respond::failure(&site, &error),
    }
}
