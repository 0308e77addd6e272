//! The fetch of a page: each address is checked before the connection, and its text is cut to a size.

use std::time::Duration;

use reqwest::{
    Client, Response, Url,
    header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, LOCATION},
    redirect::Policy,
};
use tokio::{sync::watch, time::timeout};

use super::{FetchTarget, address::reachable, error::FetchError, html::text_of};
use crate::work_error::StopLevel;

/// The maximum time of a page.
const PAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum size of a page, in bytes.
pub(super) const MAX_PAGE_BYTES: usize = 2 * 1024 * 1024;

/// The maximum number of redirects on the same host.
pub(super) const MAX_REDIRECTS: usize = 5;

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
        () = stopped => Err(FetchError::Stopped),
        fetched = timeout(limit, fetch(target)) => fetched.unwrap_or(Err(FetchError::TimedOut(limit))),
    };
    match fetched {
        Ok(text) => FetchedPage { text, is_error: false },
        Err(reason) => FetchedPage { text: format!("{}: {reason}", target.address()), is_error: true },
    }
}

/// Follows redirects on the same host, each by a request of its own checked like the first.
async fn fetch(target: &FetchTarget) -> Result<String, FetchError> {
    let mut target = target.clone();
    for _ in 0..=MAX_REDIRECTS {
        let answer = request(&target).await?;
        let Some(next) = redirect(&target, &answer) else {
            return read(answer).await;
        };
        target = FetchTarget::from_url(next.clone(), std::slice::from_ref(&target.host))
            .map_err(|_| FetchError::OtherHost(next))?;
    }
    Err(FetchError::ManyRedirects)
}

/// Sends a request to an address of the host that was checked.
async fn request(target: &FetchTarget) -> Result<Response, FetchError> {
    let host = &target.host.host;
    let port = target.url.port_or_known_default().unwrap_or(443);
    let resolved = tokio::net::lookup_host((host.as_str(), port)).await;
    let resolved = resolved.map_err(|cause| FetchError::Unresolved { host: host.clone(), cause })?;
    let resolved: Vec<_> = resolved.collect();
    let addresses = reachable(&target.host, &resolved)?;
    let _ = rustls::crypto::ring::default_provider().install_default();
    // No second look-up: the client knows these addresses alone. It stores nothing and follows nothing.
    let client = Client::builder()
        .user_agent(concat!("wf/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .no_proxy()
        .https_only(!target.host.is_plain)
        .resolve_to_addrs(host, &addresses)
        .build()?;
    let accepted = "text/html, text/*;q=0.9, application/json;q=0.9, application/xml;q=0.8, */*;q=0.1";
    Ok(client.get(target.url.clone()).header(ACCEPT, accepted).send().await?)
}

/// Returns the address an answer redirects to.
fn redirect(target: &FetchTarget, answer: &Response) -> Option<Url> {
    let place = answer.headers().get(LOCATION).filter(|_| answer.status().is_redirection())?;
    target.url.join(place.to_str().ok()?).ok()
}

async fn read(mut answer: Response) -> Result<String, FetchError> {
    let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = header(CONTENT_TYPE).split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let encoding = header(CONTENT_ENCODING).to_owned();
    let status = answer.status();
    if !encoding.is_empty() && encoding != "identity" {
        return Err(FetchError::Compressed(encoding));
    }
    if !is_text(&kind) {
        return Err(FetchError::NotText { kind, status });
    }
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await? {
        body.extend_from_slice(&part);
        if body.len() > MAX_PAGE_BYTES {
            return Err(FetchError::TooLarge);
        }
    }
    let text = page_text(&kind, &body)?;
    if status.is_success() { Ok(text) } else { Err(FetchError::Status { status, text }) }
}

/// True for a type of text; a page without a type may be one.
fn is_text(kind: &str) -> bool {
    let types = ["", "application/json", "application/xml", "application/javascript", "application/yaml"];
    kind.starts_with("text/") || kind.ends_with("+json") || kind.ends_with("+xml") || types.contains(&kind)
}

/// Returns the text of a page in UTF-8. Bytes that are none are replaced, and it is said how many.
fn page_text(kind: &str, body: &[u8]) -> Result<String, FetchError> {
    if body.contains(&0) {
        return Err(FetchError::Binary);
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

#[cfg(test)]
mod tests;
