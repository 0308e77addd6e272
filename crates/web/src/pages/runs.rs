use axum::extract::{Query, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::respond;
use crate::site::Site;
use wf_app::views::{RunQuery, run_page};

/// The filter of the list, as the address has it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct RunsQuery {
    /// The id of a plan; empty: every plan.
    #[serde(default)]
    plan: String,
    /// The word for a state; empty: every state.
    #[serde(default)]
    state: String,
    /// The number of the page, from 0.
    #[serde(default)]
    page: usize,
}

#[derive(Serialize)]
struct RunsView {
    runs: Vec<Value>,
    plan: String,
    state: String,
    page: usize,
    has_more: bool,
}

/// The runs of a workspace, newest first.
pub(crate) async fn runs(State(site): State<Site>, Query(query): Query<RunsQuery>) -> Response {
    respond::view(&site, "runs.html", move |caller| {
        let RunsQuery { plan, state, page } = query;
        let wanted = RunQuery { plan: plan.clone(), state: state.clone(), page };
        let list = run_page(caller, &wanted)?;
        Ok(Some(RunsView { runs: list.runs, plan, state, page, has_more: list.has_more }))
    })
    .await
}
