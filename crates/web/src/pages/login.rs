use axum::{
    extract::{Extension, Form, Path, State},
    http::{
        HeaderMap, StatusCode,
        header::{LOCATION, SET_COOKIE, USER_AGENT},
    },
    response::{Html, IntoResponse, Response},
};
use serde::{Deserialize, Serialize};

use crate::{
    guard,
    login_table::{LoginAccess, device_name},
    logins::LoginRow,
    query::PageQuery,
    respond::{self, plain, too_many},
    site::Site,
    visit::{LoginSite, Visit},
};
use wf_app::{keys::forget_asked_by, watch::record_login_end};

/// The page after a link, leading to the first one. A redirect would not: browsers send a cookie for this site alone
/// only if one of its pages asks, and the link may have been on another.
const ENTRY: &str = "<!doctype html><html lang=\"en\"><title>wf</title>\
    <meta http-equiv=\"refresh\" content=\"0;url=/\"><p><a href=\"/\">Go on</a></p></html>";

/// The key of a link.
#[derive(Deserialize)]
pub(crate) struct LinkQuery {
    #[serde(default)]
    key: String,
}

/// The page of a link, with the button using it up. To look at a link is not to open it: mail programs and chats look
/// to show a preview. A script presses the button.
pub(crate) async fn link(
    State(site): State<Site>,
    PageQuery(query): PageQuery<LinkQuery>,
    headers: HeaderMap,
) -> Response {
    if !site.logins.is_link(&query.key, site.host().now()) {
        return invalid_link(&site, &headers);
    }
    // The key of a valid link has digits alone.
    let key = query.key;
    Html(format!(
        "<!doctype html><html lang=\"en\"><title>wf</title><link rel=\"stylesheet\" href=\"/style.css\">\
         <script type=\"module\" src=\"/login.js\"></script><main><h1>Open the pages in this browser</h1>\
         <p>The link works once.</p><form id=\"login\" method=\"post\" action=\"/login\">\
         <input type=\"hidden\" name=\"key\" value=\"{key}\"><button class=\"yes\">Open</button></form></main></html>"
    ))
    .into_response()
}

/// Lets the browser in that opens a link first.
pub(crate) async fn login(
    State(site): State<Site>,
    headers: HeaderMap,
    Form(query): Form<LinkQuery>,
) -> Response {
    let device =
        device_name(headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default());
    match site.logins.open(&query.key, &device, site.host().now()) {
        Ok(Some(key)) => {
            let cookie = [(SET_COOKIE, guard::login_cookie(&site, &key))];
            (cookie, Html(ENTRY)).into_response()
        }
        Ok(None) => invalid_link(&site, &headers),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error}\n")),
    }
}

/// Refuses a link already used, expired, or unknown.
fn invalid_link(site: &Site, headers: &HeaderMap) -> Response {
    if let Err(wait) = site.logins.count_wrong_link(site.host().now()) {
        let reason = "Too many links that are not valid were opened.";
        return too_many(site, headers, StatusCode::TOO_MANY_REQUESTS, reason, wait);
    }
    site.templates.refusal(
        StatusCode::UNAUTHORIZED,
        "The link is not valid",
        "A link works once, within fifteen minutes. Ask for another one on a page that is open, or start `wf serve` again.",
    )
}

/// The access another browser is to have.
#[derive(Deserialize)]
pub(crate) struct LinkForm {
    #[serde(default)]
    access: LoginAccess,
    /// The name of whoever it is for; empty: that of the device alone.
    #[serde(default)]
    name: String,
}

/// Shows a link for another browser, with the access of this one at most.
pub(crate) async fn add_link(
    site: LoginSite,
    Extension(own): Extension<LoginAccess>,
    Form(form): Form<LinkForm>,
) -> Response {
    if form.access > own {
        return guard::lacks_access(&site, own, form.access);
    }
    match site.add_link(form.access, &form.name) {
        Ok(link) => site.templates.refusal(
            StatusCode::OK,
            "A link for another browser",
            &format!("It works once, within fifteen minutes: {link}"),
        ),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error}\n")),
    }
}

/// Ends the login of the browser.
pub(crate) async fn logout(site: LoginSite, headers: HeaderMap) -> Response {
    if let Some(key) = guard::login_key(&site, &headers) {
        site.logins.close(key);
    }
    let id = site.login.id.clone();
    // Whoever wants out is out, whatever can be written: what an ended login asked for is shown to nobody.
    let _ = site.change(move |caller| forget_asked_by(caller, &id)).await;
    let headers = [(LOCATION, "/".to_owned()), (SET_COOKIE, guard::login_cookie(&site, ""))];
    (StatusCode::SEE_OTHER, headers).into_response()
}

/// The login of a browser, and those of others.
#[derive(Serialize)]
struct OwnLogin {
    /// Its id.
    id: String,
    logins: Vec<LoginRow>,
    /// True if it may end others with no more access than its own.
    may_end: bool,
}

/// The page of a login: its name, and the other logins.
pub(crate) async fn own(visit: Visit) -> Response {
    let logins = visit.site.logins.list(visit.site.host().now());
    let own = OwnLogin { id: visit.site.login.id.clone(), logins, may_end: visit.may_operate() };
    visit.show("me.html", move |_| Ok(Some(own))).await
}

/// The name of a login, as a form has it.
#[derive(Deserialize)]
pub(crate) struct NameForm {
    name: String,
}

/// Gives the login of a browser another name.
pub(crate) async fn rename(site: LoginSite, Form(form): Form<NameForm>) -> Response {
    if form.name.trim().is_empty() {
        let message = "Nothing was changed. The name is what the audit log has for what this browser does.";
        return site.templates.refusal(StatusCode::BAD_REQUEST, "A name has at least one character", message);
    }
    site.logins.rename(&site.login.id, &form.name);
    respond::done(&site, Ok("/me".to_owned()))
}

/// Ends the login of another browser.
pub(crate) async fn end(
    site: LoginSite,
    Extension(own): Extension<LoginAccess>,
    Path(id): Path<String>,
) -> Response {
    let logins = site.logins.list(site.host().now());
    let Some(other) = logins.into_iter().find(|login| login.id == id) else {
        return respond::missing(&site);
    };
    let wanted = other.access.max(LoginAccess::Operate);
    if own < wanted {
        return guard::lacks_access(&site, own, wanted);
    }
    site.logins.end(&id);
    let recorded = site.change(move |caller| {
        record_login_end(caller, &id);
        forget_asked_by(caller, &id)?;
        Ok("/me".to_owned())
    });
    respond::done(&site, recorded.await)
}
