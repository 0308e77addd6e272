//! The pages of a server with several workspaces: all of them side by side, a search in all of them, and addresses of none of them.

use std::{collections::BTreeMap, sync::Arc};

use axum::{extract::Path, http::StatusCode, response::Response};
use minijinja::{Value, context, value::Serde};
use serde::Serialize;

use crate::{
    pages::home::SearchText,
    query::PageQuery,
    respond::RefusalReason,
    visit::Visit,
    workspaces::{ServedWorkspace, folder_of},
};
use wf_app::{
    Caller as _, CliExitCode, CommandError,
    views::{HomeView, SearchHit, SearchView, home_view, require_workspace, search_view},
};
use wf_base::untrusted;

/// The workspaces of a server.
#[derive(Serialize)]
struct WorkspacesView {
    workspaces: Vec<WorkspaceGroup>,
}

/// A workspace with its requests, its troubles and its live runs.
#[derive(Serialize)]
struct WorkspaceGroup {
    name: String,
    /// The address of its home.
    page: String,
    folder: String,
    /// The reason why it cannot be opened.
    problem: Option<RefusalReason>,
    /// Its home, for a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    home: Option<HomeView>,
    /// The part of its home for this page, as HTML; its links lead into it.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
}

/// The home of all workspaces.
pub(crate) async fn home(visit: Visit) -> Response {
    let (workspaces, wants_json) = (Arc::clone(&visit.site.workspaces), visit.wants_json);
    let read = move |_: &_| {
        let groups = workspaces.iter().map(|workspace| WorkspaceGroup::read(workspace, wants_json));
        Ok(Some(WorkspacesView { workspaces: groups.collect::<Result<_, _>>()? }))
    };
    visit.show("workspaces.html", read).await
}

impl WorkspaceGroup {
    fn read(workspace: &ServedWorkspace, wants_json: bool) -> Result<Self, CommandError> {
        let caller = &*workspace.caller;
        let mut group = Self {
            name: workspace.name.clone(),
            page: format!("{}/", workspace.base),
            folder: folder_of(caller.host()).display().to_string(),
            problem: None,
            home: None,
            part: None,
        };
        match require_workspace(caller).and_then(|()| home_view(caller)) {
            Ok(home) if wants_json => group.home = Some(home),
            Ok(home) => group.part = Some(part(workspace, &home)?),
            Err(error) => group.problem = Some(problem(workspace, &error)),
        }
        Ok(group)
    }
}

/// The most hits of each kind in one of several workspaces.
const MAX_HITS: usize = 5;

/// The result of a search in all workspaces.
#[derive(Serialize)]
struct SearchOfAll {
    text: String,
    groups: Vec<FoundGroup>,
    /// The names of the workspaces not searched.
    unread: Vec<String>,
}

/// The hits of a kind in a workspace.
#[derive(Serialize)]
struct FoundGroup {
    name: String,
    /// The hits, with the addresses of their pages in this server.
    hits: Vec<SearchHit>,
    /// True if there are more.
    is_cut: bool,
}

/// The search over the pages of all workspaces.
pub(crate) async fn search(visit: Visit, PageQuery(query): PageQuery<SearchText>) -> Response {
    let workspaces = Arc::clone(&visit.site.workspaces);
    let read = move |_: &_| {
        let mut all = SearchOfAll { text: query.q.clone(), groups: Vec::new(), unread: Vec::new() };
        for workspace in workspaces.iter() {
            let caller = &*workspace.caller;
            match require_workspace(caller).and_then(|()| search_view(caller, &query.q)) {
                Ok(view) => all.add(workspace, view),
                Err(_) => all.unread.push(workspace.name.clone()),
            }
        }
        Ok(Some(all))
    };
    visit.show("search.html", read).await
}

impl SearchOfAll {
    fn add(&mut self, workspace: &ServedWorkspace, view: SearchView) {
        self.text = view.text;
        let base = &workspace.base;
        self.groups.extend(view.groups.into_iter().map(|mut group| {
            let is_cut = group.is_cut || group.hits.len() > MAX_HITS;
            group.hits.truncate(MAX_HITS);
            let hits =
                group.hits.into_iter().map(|hit| SearchHit { page: format!("{base}{}", hit.page), ..hit });
            FoundGroup { name: format!("{} in {}", group.name, workspace.name), hits: hits.collect(), is_cut }
        }));
    }
}

/// Returns the reason why a workspace cannot be opened.
pub(crate) fn problem(workspace: &ServedWorkspace, error: &CommandError) -> RefusalReason {
    RefusalReason::of_text(&untrusted::plain(&workspace.caller.failure_text(error)))
}

/// Renders the requests, the troubles and the live runs of a workspace, with its own templates.
fn part(workspace: &ServedWorkspace, home: &HomeView) -> Result<String, CommandError> {
    let values = context! { view => Value::from(Serde(home)) };
    let html = workspace.templates.html("workspace.html", values);
    html.map_err(|error| CommandError::new(CliExitCode::Bug, format!("a part cannot be made: {error}")))
}

/// An address in an unknown workspace.
pub(crate) async fn unknown(visit: Visit, Path(parts): Path<BTreeMap<String, String>>) -> Response {
    let rest = parts.get("rest").map_or("", String::as_str);
    let name = rest.split('/').next().unwrap_or_default();
    let names: Vec<&str> = visit.site.workspaces.iter().map(|workspace| workspace.name.as_str()).collect();
    let title = if name.is_empty() {
        "The address names no workspace".to_owned()
    } else {
        format!("There is no workspace `{}` here", untrusted::plain(name))
    };
    let message = format!("This server has {}. Home lists them.", names.join(", "));
    visit.site.templates.refusal(StatusCode::NOT_FOUND, &title, &message)
}
