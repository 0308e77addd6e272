//! The fetch of a page: each address is checked before the connection, and its text is cut to a size.

use std::{error::Error, time::Duration};

use reqwest::{
    Client, Response, Url,
    header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, LOCATION},
    redirect::Policy,
};
use tokio::{sync::watch, time::timeout};

use super::{FetchTarget, address::reachable, html::text_of};
use crate::work_error::StopLevel;

/// The maximum time of a page.
const PAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum size of a page, in bytes.
const MAX_PAGE_BYTES: usize = 2 * 1024 * 1024;

/// The maximum number of redirects on the same host.
const MAX_REDIRECTS: usize = 5;

/// The result of fetching a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedPage {
    /// The text of the page, or the reason why there is none.
    pub text: String,
    /// True if there is none.
    pub is_error: bool,
}

/// Fetches a page as text. `stop` ends the wait.
pub async fn fetch_page(
    target: &FetchTarget,
    time_left: Option<Duration>,
    mut stop: watch::Receiver<StopLevel>,
) -> FetchedPage {
    let limit = time_left.map_or(PAGE_TIMEOUT, |left| left.min(PAGE_TIMEOUT));
    let stopped = async {
        if stop.wait_for(|stop| *stop != StopLevel::No).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let fetched = tokio::select! {
        () = stopped => Err("the call was stopped".to_owned()),
        fetched = timeout(limit, fetch(target)) => fetched.unwrap_or_else(|_| {
            Err(format!("no whole answer within {} s", limit.as_secs_f64()))
        }),
    };
    match fetched {
        Ok(text) => FetchedPage { text, is_error: false },
        Err(reason) => FetchedPage { text: format!("{}: {reason}", target.address()), is_error: true },
    }
}

/// Follows redirects on the same host, each by a request of its own checked like the first.
async fn fetch(target: &FetchTarget) -> Result<String, String> {
    let mut target = target.clone();
    for _ in 0..=MAX_REDIRECTS {
        let answer = request(&target).await?;
        let Some(next) = redirect(&target, &answer) else {
            return read(answer).await;
        };
        target = FetchTarget::from_url(next.clone(), std::slice::from_ref(&target.host)).map_err(|_| {
            format!("it redirects to `{next}`, which is not on the same host: call the tool with that address to go there")
        })?;
    }
    Err(format!("more than {MAX_REDIRECTS} redirects"))
}

/// Sends a request to an address of the host that was checked.
async fn request(target: &FetchTarget) -> Result<Response, String> {
    let host = &target.host.host;
    let port = target.url.port_or_known_default().unwrap_or(443);
    let resolved = tokio::net::lookup_host((host.as_str(), port)).await;
    let resolved: Vec<_> = resolved.map_err(|error| format!("cannot resolve `{host}`: {error}"))?.collect();
    let addresses = reachable(&target.host, &resolved)?;
    let _ = rustls::crypto::ring::default_provider().install_default();
    // No second look-up: the client knows these addresses alone. It stores nothing and follows nothing.
    let client = Client::builder()
        .user_agent(concat!("wf/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .no_proxy()
        .https_only(!target.host.is_plain)
        .resolve_to_addrs(host, &addresses)
        .build()
        .map_err(|error| cause(&error))?;
    let accepted = "text/html, text/*;q=0.9, application/json;q=0.9, application/xml;q=0.8, */*;q=0.1";
    let sent = client.get(target.url.clone()).header(ACCEPT, accepted).send().await;
    sent.map_err(|error| cause(&error))
}

/// Returns the address an answer redirects to.
fn redirect(target: &FetchTarget, answer: &Response) -> Option<Url> {
    let place = answer.headers().get(LOCATION).filter(|_| answer.status().is_redirection())?;
    target.url.join(place.to_str().ok()?).ok()
}

async fn read(mut answer: Response) -> Result<String, String> {
    let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = header(CONTENT_TYPE).split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let encoding = header(CONTENT_ENCODING).to_owned();
    let status = answer.status();
    if !encoding.is_empty() && encoding != "identity" {
        return Err(format!("the page is compressed with `{encoding}`, which was not asked for"));
    }
    if !is_text(&kind) {
        return Err(format!("it is `{kind}`, and only text can be read (status {status})"));
    }
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(|error| cause(&error))? {
        body.extend_from_slice(&part);
        if body.len() > MAX_PAGE_BYTES {
            return Err(format!("it is larger than {} MiB", MAX_PAGE_BYTES / 1024 / 1024));
        }
    }
    let text = page_text(&kind, &body)?;
    if status.is_success() { Ok(text) } else { Err(format!("status {status}\n{text}")) }
}

/// True for a type of text; a page without a type may be one.
fn is_text(kind: &str) -> bool {
    let types = ["", "application/json", "application/xml", "application/javascript", "application/yaml"];
    kind.starts_with("text/") || kind.ends_with("+json") || kind.ends_with("+xml") || types.contains(&kind)
}

/// Returns the text of a page in UTF-8. Bytes that are none are replaced, and it is said how many.
fn page_text(kind: &str, body: &[u8]) -> Result<String, String> {
    if body.contains(&0) {
        return Err("it is no text: it contains NUL bytes".into());
    }
    let (mut text, mut invalid) = (String::with_capacity(body.len()), 0);
    for chunk in body.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            invalid += 1;
        }
    }
    let is_html = kind == "text/html" || kind == "application/xhtml+xml";
    let mut text = if is_html { text_of(&text) } else { text };
    if invalid > 0 {
        text.push_str(&format!(
            "\n[{invalid} places are not UTF-8, and are shown as {}]",
            char::REPLACEMENT_CHARACTER
        ));
    }
    Ok(text)
}

/// Returns the innermost cause: the outer ones only add locations.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests;
