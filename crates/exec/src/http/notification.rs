//! The sending of a notification: the server has to accept it, and no more.

use std::{borrow::Cow, time::Duration};

use reqwest::{
    Url,
    header::{HeaderMap, HeaderName},
};

use wf_base::time::{Moment, format_duration};

use super::{
    HttpClient,
    client::{classify_status, request_error},
    request::sensitive_value,
};
use crate::work_error::WorkError;

/// A notification: the content of the response does not matter, only its acceptance.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpNotification {
    /// The address. May itself be a secret, as chat webhooks are: only its origin is ever shown.
    pub url: String,
    /// The headers in order, which may be secret.
    pub headers: Vec<(Cow<'static, str>, String)>,
    pub body: String,
    pub timeout: Duration,
}

impl std::fmt::Debug for HttpNotification {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = self.url().map_or_else(|_| "?".into(), |url| origin(&url));
        write!(f, "Post({shown})")
    }
}

impl HttpNotification {
    fn url(&self) -> Result<Url, WorkError> {
        let url =
            Url::parse(&self.url).map_err(|error| WorkError::logical(format!("invalid URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            let reason = format!("the URL starts with `{}:`, but must start with `https:`", url.scheme());
            return Err(WorkError::logical(reason));
        }
        Ok(url)
    }

    fn headers(&self) -> Result<HeaderMap, WorkError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let invalid = |_| WorkError::logical(format!("invalid name of a header: `{name}`"));
            let header = HeaderName::try_from(name.as_ref()).map_err(invalid)?;
            headers.insert(header, sensitive_value(name, value)?);
        }
        Ok(headers)
    }
}

impl HttpClient {
    /// Sends a notification. A redirect is a failure: following it would turn the notification into a request to
    /// another server. The error quotes the origin of the address and none of the content sent. A date in `retry-after`
    /// is compared to `now`.
    pub async fn post(&self, notification: HttpNotification, now: Moment) -> Result<(), WorkError> {
        let url = notification.url()?;
        let shown = format!("POST {}", origin(&url));
        let request = self.poster()?.post(url).headers(notification.headers()?);
        let sent = tokio::time::timeout(notification.timeout, request.body(notification.body).send()).await;
        let answer = sent.map_err(|_| {
            let limit = format_duration(notification.timeout);
            WorkError::environmental(format!("{shown}: no response within {limit}"))
        })?;
        let answer = answer.map_err(|error| request_error(&shown, &error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let reason =
            if status.is_redirection() { "; redirects are not followed, use the new URL" } else { "" };
        Err(classify_status(&answer, format!("{shown}: got status {status}{reason}"), now))
    }
}

/// Returns the scheme, the host and the port, the only parts of an address that may be shown.
fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}
