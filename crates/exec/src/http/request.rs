//! The parts of a request, rendered and checked before anything is sent.

use reqwest::{
    Method, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};

use wf_base::{name::Name, redact::SecretMask};
use wf_model::{
    HttpCall,
    expr::{EvalError, ExprReference, ExprScope, Template},
};

use crate::work_error::WorkError;

/// A request, ready to be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// `GET`, `POST` …
    pub method: String,
    /// The address.
    pub url: String,
    /// The headers in order.
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
    /// The accepted status codes; empty: 200 to 299.
    pub expect: Vec<u16>,
    /// The outputs, each with the JSON path of its value in the response body.
    pub outputs: Vec<(Name, String)>,
    /// True if a header or the body was rendered from a secret.
    pub careful: bool,
}

/// Headers and bodies may contain secrets.
impl std::fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ask({} {})", self.method, self.url)
    }
}

impl HttpRequest {
    /// Renders a request.
    pub fn new(http: &HttpCall, scope: &dyn ExprScope) -> Result<Self, WorkError> {
        let unable = |error: EvalError| WorkError::logical(error.to_string());
        let mut headers = Vec::with_capacity(http.headers.len());
        for (name, value) in &http.headers {
            headers.push((name.clone(), value.render(scope).map_err(unable)?));
        }
        let body = http.body.as_ref().map(|body| body.render(scope));
        Ok(Self {
            method: http.method.clone(),
            url: http.url.render(scope).map_err(unable)?,
            headers,
            body: body.transpose().map_err(unable)?,
            expect: http.expect.clone(),
            outputs: http.outputs.clone(),
            careful: reads_secret(http),
        })
    }

    /// True if a status code is accepted.
    pub(super) fn expects(&self, status: u16) -> bool {
        match self.expect.as_slice() {
            [] => (200..300).contains(&status),
            expected => expected.contains(&status),
        }
    }

    /// True if the request contains a secret, from any source.
    pub(super) fn carries_secret(&self, mask: &SecretMask) -> bool {
        let mut values = self.headers.iter().map(|(_, value)| value).chain(&self.body);
        self.careful || values.any(|text| mask.text(text) != *text)
    }

    /// Returns the error of a request that cannot be sent.
    pub fn check(&self) -> Result<(), WorkError> {
        self.parts().map(drop)
    }

    /// Returns the method, the address and the headers, if they are well-formed.
    pub(super) fn parts(&self) -> Result<(Method, Url, HeaderMap), WorkError> {
        let method = Method::from_bytes(self.method.as_bytes())
            .map_err(|_| WorkError::logical(format!("`{}` is not an HTTP method", self.method)))?;
        let url = Url::parse(&self.url)
            .map_err(|error| WorkError::logical(format!("`{}` is not a URL: {error}", self.url)))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(WorkError::logical(format!("`{url}` is neither http nor https")));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let header_name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| WorkError::logical(format!("`{name}` is not a valid header name")))?;
            headers.append(header_name, sensitive_value(name, value)?);
        }
        Ok((method, url, headers))
    }
}

/// Returns the value of a header, which no message may show.
pub(super) fn sensitive_value(name: &str, value: &str) -> Result<HeaderValue, WorkError> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| WorkError::logical(format!("invalid value of header `{name}`")))?;
    value.set_sensitive(true);
    Ok(value)
}

/// True if a template of a request reads a secret.
fn reads_secret(http: &HttpCall) -> bool {
    let templates = http.headers.iter().map(|(_, value)| value);
    let mut refs = templates.chain(&http.body).flat_map(Template::refs);
    refs.any(|read| matches!(read.name, ExprReference::Secret(_)))
}
