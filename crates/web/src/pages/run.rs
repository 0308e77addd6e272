use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::respond;
use crate::site::Site;
use wf_app::views::{StepFilter, find_run, run_before, run_diff_of, run_view, state_reader};

/// The filter of the tasks, as the address has it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct TasksQuery {
    /// The word for a state; empty: every state.
    #[serde(default)]
    state: String,
    /// The number of the page, from 0.
    #[serde(default)]
    page: usize,
    /// The group of steps that is unfolded in the picture of a large plan.
    open: Option<usize>,
}

/// A run.
pub(crate) async fn run(
    State(site): State<Site>,
    Path(run): Path<String>,
    Query(query): Query<TasksQuery>,
) -> Response {
    let now = site.host().now();
    respond::view(&site, "run.html", move |caller| {
        let Some(reader) = state_reader(caller)? else {
            return Ok(None);
        };
        let filter = StepFilter::of(&query.state, query.page, query.open);
        find_run(&reader, &run)?.map(|run| run_view(&reader, &run, filter, now)).transpose()
    })
    .await
}

/// The run that another one is compared with, as the address has it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct DiffQuery {
    /// The beginning of its id; empty: the run of the same plan before it.
    #[serde(default)]
    with: String,
}

#[derive(Serialize)]
struct DiffView {
    /// The run.
    run: String,
    /// The beginning of the id that was asked for.
    with: String,
    /// The differences, as `wf diff --json` has them; nothing if there is no run to compare with.
    diff: Option<Value>,
}

/// The differences between a run and another one.
pub(crate) async fn diff(
    State(site): State<Site>,
    Path(run): Path<String>,
    Query(DiffQuery { with }): Query<DiffQuery>,
) -> Response {
    respond::view(&site, "diff.html", move |caller| {
        let Some(reader) = state_reader(caller)? else {
            return Ok(None);
        };
        let Some(run) = find_run(&reader, &run)? else {
            return Ok(None);
        };
        let other = if with.is_empty() { run_before(&reader, &run)? } else { find_run(&reader, &with)? };
        let diff = other.map(|other| run_diff_of(&reader, &other, &run)).transpose()?;
        let diff = diff.map(|diff| diff.document());
        Ok(Some(DiffView { run: run.to_string(), with, diff }))
    })
    .await
}
