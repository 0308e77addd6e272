//! The operation about a server: the list of its workspaces.

use std::sync::Arc;

use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;

use super::{problem::ApiError, table::PREFIX};
use crate::{pages::workspaces::problem, respond::RefusalReason, site::Site, workspaces::ServedWorkspace};
use wf_app::views::require_workspace;

/// The workspaces of a server.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WorkspaceList")]
pub(super) struct ApiWorkspaceList {
    workspaces: Vec<ApiWorkspace>,
}

/// A workspace of a server.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Workspace")]
struct ApiWorkspace {
    name: String,
    /// The beginning of the addresses of its operations: `/w/NAME/api/v1`, or `/api/v1` if it is the only one.
    api: String,
    /// The address of its home page.
    page: String,
    /// The reason why it cannot be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// The remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

pub(super) async fn list(State(site): State<Site>) -> Result<Json<ApiWorkspaceList>, ApiError> {
    let workspaces = Arc::clone(&site.workspaces);
    let listed = site.read(move |_| Ok(workspaces.iter().map(ApiWorkspace::of).collect())).await;
    let workspaces = listed.map_err(|error| ApiError::of_view(&site, &error))?;
    Ok(Json(ApiWorkspaceList { workspaces }))
}

impl ApiWorkspace {
    fn of(workspace: &ServedWorkspace) -> Self {
        let reason = require_workspace(&*workspace.caller).err().map(|error| problem(workspace, &error));
        let (problem, remedy) =
            reason.map_or((None, None), |RefusalReason { error, remedy }| (Some(error), remedy));
        let base = &workspace.base;
        Self {
            name: workspace.name.clone(),
            api: format!("{base}{PREFIX}"),
            page: format!("{base}/"),
            problem,
            remedy,
        }
    }
}
