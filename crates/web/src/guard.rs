//! The guards of every request, before a page sees it: its host, its origin, its login.

use axum::{
    extract::{Extension, Request, State},
    http::{
        Method, StatusCode,
        header::{
            AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, HeaderMap, HeaderName,
            HeaderValue, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
        },
    },
    middleware::Next,
    response::Response,
};

use crate::{
    api,
    login_table::{LoginAccess, MAX_TIME},
    respond::{failure, plain},
    site::Site,
};

/// A page may use what comes from this site, and nothing else; none of it is inline.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Adds what tells a browser how little a page may do.
pub(crate) async fn add_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    // Under `no-referrer`, browsers send forms without their origin, and they would be refused.
    let fixed: [(HeaderName, &'static str); 5] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "same-origin"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        // A file is sent with a stricter policy of its own.
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Refuses requests for another host, and those that change something and come from another site.
pub(crate) async fn check_origin(State(site): State<Site>, request: Request, next: Next) -> Response {
    if !is_for_site(&site, &request) {
        let host = site.address.origin();
        return plain(StatusCode::MISDIRECTED_REQUEST, &format!("this is another host; use {host}\n"));
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let origin = request.headers().get(ORIGIN).and_then(|origin| origin.to_str().ok());
    // A program sends its key itself; no other site can let a browser do that.
    if !reads
        && bearer(request.headers()).is_none()
        && !origin.is_some_and(|origin| site.address.is_own_origin(origin))
    {
        let message =
            format!("the request comes from another site: send `Origin: {}`\n", site.address.origin());
        // A program has no site, and forgot its key.
        let is_api = api::is_address(request.uri().path());
        return plain(if is_api { StatusCode::UNAUTHORIZED } else { StatusCode::FORBIDDEN }, &message);
    }
    next.run(request).await
}

/// True if the only `Host`, and the authority in the request line if any, name the site.
fn is_for_site(site: &Site, request: &Request) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let own = |host: &str| site.address.is_own_host(host);
    host.to_str().is_ok_and(own) && request.uri().authority().is_none_or(|place| own(place.as_str()))
}

/// Refuses browsers that opened no link.
pub(crate) async fn require_login(State(site): State<Site>, mut request: Request, next: Next) -> Response {
    let key = login_key(&site, request.headers());
    let Some(login) = key.and_then(|key| site.logins.find(key, site.host().now())) else {
        return site.templates.refusal(
            StatusCode::UNAUTHORIZED,
            "This browser may not look yet",
            "Open the link that `wf serve` printed. A link works once: for another browser, choose “Add a browser” on a \
             page, or start `wf serve` again.",
        );
    };
    request.extensions_mut().insert(login.access);
    request.extensions_mut().insert(login.act_login);
    next.run(request).await
}

/// Refuses requests for a workspace whose folder is gone.
pub(crate) async fn require_folder(State(site): State<Site>, request: Request, next: Next) -> Response {
    match site.check_folder() {
        Ok(()) => next.run(request).await,
        Err(error) => failure(&site, &error),
    }
}

/// Refuses requests changing something from browsers that may only look.
pub(crate) async fn require_operator(
    State(site): State<Site>,
    Extension(access): Extension<LoginAccess>,
    request: Request,
    next: Next,
) -> Response {
    if access < LoginAccess::Operate {
        return lacks_access(&site, access, LoginAccess::Operate);
    }
    operate(&site, request, next).await
}

/// Refuses requests starting something from browsers that may not.
pub(crate) async fn require_starter(
    State(site): State<Site>,
    Extension(access): Extension<LoginAccess>,
    request: Request,
    next: Next,
) -> Response {
    if access < LoginAccess::Start {
        return lacks_access(&site, access, LoginAccess::Start);
    }
    operate(&site, request, next).await
}

/// Passes on a request that changes something; it renews the access of its browser.
pub(crate) async fn operate(site: &Site, request: Request, next: Next) -> Response {
    let key = login_key(site, request.headers()).map(str::to_owned);
    let response = next.run(request).await;
    // What was refused is no operation.
    if let Some(key) = key.filter(|_| response.status().is_success() || response.status().is_redirection()) {
        site.logins.renew(&key, site.host().now());
    }
    response
}

/// Returns the page for a browser that wants more than it may.
pub(crate) fn lacks_access(site: &Site, own: LoginAccess, wanted: LoginAccess) -> Response {
    let title = match own {
        LoginAccess::Look => "This browser may only look",
        LoginAccess::Operate | LoginAccess::Start => "This browser may not start runs",
    };
    let choice = match wanted {
        LoginAccess::Start => "look, operate and start",
        LoginAccess::Look | LoginAccess::Operate => "look and operate",
    };
    let message = format!(
        "Nothing was changed. On a browser that may do so, choose “Add a browser” with “{choice}”, and open that link here; \
         the link that `wf serve` prints when it starts may do so, too."
    );
    site.templates.refusal(StatusCode::FORBIDDEN, title, &message)
}

/// Returns the key a program sent in the header for it; `None` also if there are two: nobody knows which one is meant.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut sent = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (sent.next(), sent.next()) else {
        return None;
    };
    let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then_some(key)
}

/// Returns the key a browser or a program sent.
pub(crate) fn login_key<'a>(site: &Site, headers: &'a HeaderMap) -> Option<&'a str> {
    if let Some(key) = bearer(headers) {
        return Some(key);
    }
    let name = &*site.cookie;
    let cookies = headers.get_all(COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs =
        cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key_name, _)| *key_name == name).map(|(_, key)| key)
}

/// Returns the header setting the key of a browser; an empty key removes it.
pub(crate) fn login_cookie(site: &Site, key: &str) -> String {
    let name = &site.cookie;
    let secure = if site.address.is_encrypted() { "; Secure" } else { "" };
    let age = if key.is_empty() { 0 } else { MAX_TIME.as_secs() };
    format!("{name}={key}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}")
}
