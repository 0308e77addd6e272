use axum::extract::{Path, State};
use axum::response::Response;
use serde::Serialize;

use crate::respond;
use crate::site::Site;
use wf_app::views::{SkillListing, skill_listings, skill_view};

#[derive(Serialize)]
struct SkillsView {
    skills: Vec<SkillListing>,
}

/// The skills of a workspace and of its user.
pub(crate) async fn skills(State(site): State<Site>) -> Response {
    respond::view(&site, "skills.html", |caller| Ok(Some(SkillsView { skills: skill_listings(caller)? })))
        .await
}

/// A skill, with its lock and its files.
pub(crate) async fn skill(State(site): State<Site>, Path(skill): Path<String>) -> Response {
    respond::view(&site, "skill.html", move |caller| skill_view(caller, &skill)).await
}
