//! A request of this program to another one of its kind, and the answer to it, part after part.

use std::{borrow::Cow, time::Duration};

use reqwest::{
    Method, Response, Url,
    header::{HeaderMap, HeaderName},
};

use wf_base::time::format_duration;

use super::{HttpClient, client::request_error, request::sensitive_value};
use crate::work_error::WorkError;

/// The longest time until an answer begins. A run is recorded within twenty seconds of its start.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// A request whose answer is wanted whatever its status is.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpExchange {
    pub method: &'static str,
    pub url: String,
    /// The headers in order, which may be secret.
    pub headers: Vec<(Cow<'static, str>, String)>,
    /// The body; empty: none.
    pub body: String,
}

impl std::fmt::Debug for HttpExchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.url)
    }
}

/// An answer, of which the head is there.
#[derive(Debug)]
pub struct HttpAnswer {
    response: Response,
    /// The request, as a message names it.
    shown: String,
}

impl HttpClient {
    /// Sends a request, and returns its answer as soon as that begins. A redirect is an answer, too: following it would send a key
    /// to another server.
    pub async fn exchange_with(&self, exchange: HttpExchange) -> Result<HttpAnswer, WorkError> {
        let shown = format!("{exchange:?}");
        let invalid = |what: &str| WorkError::logical(format!("{shown}: invalid {what}"));
        let url = Url::parse(&exchange.url).map_err(|_| invalid("address"))?;
        let method = Method::from_bytes(exchange.method.as_bytes()).map_err(|_| invalid("method"))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &exchange.headers {
            let header = HeaderName::try_from(name.as_ref()).map_err(|_| invalid("name of a header"))?;
            headers.insert(header, sensitive_value(name, value)?);
        }
        let request = self.poster()?.request(method, url).headers(headers).body(exchange.body);
        let sent = tokio::time::timeout(ANSWER_TIMEOUT, request.send()).await.map_err(|_| {
            WorkError::environmental(format!("{shown}: no answer within {}", format_duration(ANSWER_TIMEOUT)))
        })?;
        let response = sent.map_err(|error| request_error(&shown, &error))?;
        Ok(HttpAnswer { response, shown })
    }
}

impl HttpAnswer {
    /// Returns its status.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// True if its body is of a media type, whatever its parameters.
    pub fn is_of_type(&self, media_type: &str) -> bool {
        let value = self.response.headers().get("content-type").and_then(|value| value.to_str().ok());
        value.is_some_and(|value| value.split(';').next().is_some_and(|found| found.trim() == media_type))
    }

    /// Returns the next part of its body; `None` at the end.
    pub async fn next_part(&mut self) -> Result<Option<Vec<u8>>, WorkError> {
        let part = self.response.chunk().await.map_err(|error| request_error(&self.shown, &error))?;
        Ok(part.map(|bytes| bytes.to_vec()))
    }
}
