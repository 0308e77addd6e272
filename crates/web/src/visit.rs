//! A request for a page by a browser that was let in: what a page needs to know of who reads it.

use std::{ops::Deref, sync::Arc};

use axum::{
    Json,
    extract::FromRequestParts,
    http::{
        StatusCode,
        header::{ACCEPT, HeaderMap},
        request::Parts,
    },
    response::{IntoResponse as _, Response},
};
use serde::Serialize;

use crate::{
    caller::PageCaller,
    login_table::LoginAccess,
    respond,
    site::Site,
    workspaces::{WorkspaceLink, workspace_links},
};
use wf_app::{
    ActLogin, CommandError,
    views::{WorkspaceTotals, workspace_totals},
};

/// The site as a login uses it: what changes through it is recorded with the login.
pub(crate) struct LoginSite {
    site: Site,
    pub login: ActLogin,
}

impl Deref for LoginSite {
    type Target = Site;

    fn deref(&self) -> &Site {
        &self.site
    }
}

impl FromRequestParts<Site> for LoginSite {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, site: &Site) -> Result<Self, Response> {
        match parts.extensions.get::<ActLogin>() {
            Some(login) => Ok(Self { site: site.clone(), login: login.clone() }),
            None => Err(respond::plain(StatusCode::UNAUTHORIZED, "this browser may not look yet\n")),
        }
    }
}

impl LoginSite {
    /// Drafts, records or changes something. It does not wait for pages.
    pub async fn change<T: Send + 'static>(
        &self,
        act: impl FnOnce(&PageCaller) -> Result<T, CommandError> + Send + 'static,
    ) -> Result<T, CommandError> {
        self.site.change(&self.login, act).await
    }

    /// Carries out something with a longer duration than a view.
    pub async fn execute<T: Send + 'static>(
        &self,
        act: impl FnOnce(&PageCaller) -> Result<T, CommandError> + Send + 'static,
    ) -> Result<T, CommandError> {
        self.site.execute(&self.login, act).await
    }
}

/// A request for a page.
pub(crate) struct Visit {
    pub site: LoginSite,
    /// The access of its browser.
    pub access: LoginAccess,
    /// True if it asks for the view itself, and for no page made of it.
    pub wants_json: bool,
}

impl FromRequestParts<Site> for Visit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, site: &Site) -> Result<Self, Response> {
        let site = LoginSite::from_request_parts(parts, site).await?;
        match parts.extensions.get() {
            Some(access) => Ok(Self { access: *access, wants_json: wants_json(&parts.headers), site }),
            None => Err(respond::plain(StatusCode::UNAUTHORIZED, "this browser may not look yet\n")),
        }
    }
}

/// True if a request prefers JSON: a browser names HTML, too.
pub(crate) fn wants_json(headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepts.contains("application/json") && !accepts.contains("text/html")
}

/// The frame of a page: its navigation, with what a browser may do.
#[derive(Debug, Serialize)]
pub(crate) struct PageFrame {
    /// The name of the workspace; empty on the pages of all of them.
    workspace: String,
    /// All workspaces of the server; empty if there is only one.
    workspaces: Vec<WorkspaceLink>,
    access: LoginAccess,
    /// The name of its login.
    login: String,
    #[serde(flatten)]
    totals: WorkspaceTotals,
}

impl Visit {
    /// True if its browser may operate.
    pub fn may_operate(&self) -> bool {
        self.access >= LoginAccess::Operate
    }

    /// True if its browser may start runs.
    pub fn may_start(&self) -> bool {
        self.access >= LoginAccess::Start
    }

    /// Reads a view and returns its page, away from the answering thread; the page of its error if it cannot be read.
    pub async fn show<T: Serialize>(
        &self,
        template: &'static str,
        read: impl FnOnce(&PageCaller) -> Result<Option<T>, CommandError> + Send + 'static,
    ) -> Response {
        // Older than what is read, never newer: the script of a page asks again for all that came later.
        let log = self.site.log.version();
        let templates = Arc::clone(&self.site.templates);
        let (site, login) = (Site::clone(&self.site), self.site.login.name.clone());
        let (access, wants_json) = (self.access, self.wants_json);
        let page = self.site.read(move |caller| {
            let Some(view) = read(caller)? else {
                return Ok(None);
            };
            if wants_json {
                return Ok(Some(Json(view).into_response()));
            }
            // The pages of all workspaces are there whatever has become of one.
            let totals =
                if site.is_entrance() { WorkspaceTotals::default() } else { workspace_totals(caller)? };
            let workspaces = workspace_links(&site.workspaces);
            let workspace = site.name.to_string();
            let frame = PageFrame { workspace, workspaces, access, login, totals };
            Ok(Some(templates.page(&log, template, &view, &frame)))
        });
        match page.await {
            Ok(Some(page)) => page,
            Ok(None) => respond::missing(&self.site),
            Err(error) => respond::failure(&self.site, &error),
        }
    }
}
