use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::Client;
use super::client::{blamed, failed};
use crate::exec::Unable;
use crate::time::format_duration;

/// Something told to somebody: what they say to it does not matter, only that they took it.
#[derive(Clone, PartialEq, Eq)]
pub struct Post {
    /// Where to. May itself be a secret, as webhooks of chats are: only its origin is ever shown.
    pub url: String,
    /// Headers in order, which may be secret.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: String,
    /// The longest it may take.
    pub timeout: Duration,
}

impl std::fmt::Debug for Post {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = self.url().map_or_else(|_| "?".into(), |url| origin(&url));
        write!(f, "Post({shown})")
    }
}

impl Post {
    fn url(&self) -> Result<Url, Unable> {
        let url = Url::parse(&self.url)
            .map_err(|error| Unable::logical(format!("the address is not a URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            let why = format!(
                "the address begins with `{}:`, not with https:",
                url.scheme()
            );
            return Err(Unable::logical(why));
        }
        Ok(url)
    }

    fn headers(&self) -> Result<HeaderMap, Unable> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let mut value = HeaderValue::from_str(value).map_err(|_| {
                Unable::logical(format!(
                    "the header `{name}` has a value that cannot be sent"
                ))
            })?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(headers)
    }
}

impl Client {
    /// Posts something. A redirection is no success: followed, it would become a question to
    /// somebody else. What a reason quotes is the origin of the address and nothing that was sent.
    pub async fn post(&self, post: Post) -> Result<(), Unable> {
        let url = post.url()?;
        let shown = format!("POST {}", origin(&url));
        let request = self.poster()?.post(url).headers(post.headers()?);
        let sent = tokio::time::timeout(post.timeout, request.body(post.body).send()).await;
        let answer = sent.map_err(|_| {
            let limit = format_duration(post.timeout);
            Unable::environmental(format!("{shown}: no answer within {limit}"))
        })?;
        let status = answer.map_err(|error| failed(&shown, &error))?.status();
        if status.is_success() {
            return Ok(());
        }
        let why = if status.is_redirection() {
            "; a redirection is not followed, so the new address must be written"
        } else {
            ""
        };
        Err(blamed(status, format!("{shown} answered {status}{why}")))
    }
}

/// The scheme, the host and the port: all of an address that may be shown.
fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}
