use axum::extract::{Path, State};
use axum::response::Response;
use serde::Serialize;
use serde_json::Value;

use crate::respond;
use crate::site::Site;
use wf_app::views::{GoalListing, goal_listings, goal_view};

#[derive(Serialize)]
struct GoalsView {
    goals: Vec<Value>,
}

/// The goals of a workspace.
pub(crate) async fn goals(State(site): State<Site>) -> Response {
    let view = site.read(|caller| {
        let goals = goal_listings(caller)?.iter().map(GoalListing::json).collect();
        Ok(Some(GoalsView { goals }))
    });
    respond::page(&site, "goals.html", view.await)
}

/// A goal, with its slots.
pub(crate) async fn goal(State(site): State<Site>, Path(goal): Path<String>) -> Response {
    let view = site.read(move |caller| goal_view(caller, &goal));
    respond::page(&site, "goal.html", view.await)
}
