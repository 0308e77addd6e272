use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};

use crate::exec::Unable;
use crate::expr::{EvalError, Ref, Scope, Template};
use crate::mask::Mask;
use crate::model::Http;
use crate::name::Name;

/// A request, ready to be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Ask {
    /// `GET`, `POST` …
    pub method: String,
    /// Where to.
    pub url: String,
    /// Headers in order.
    pub headers: Vec<(String, String)>,
    /// The body, if one is sent.
    pub body: Option<String>,
    /// Accepted status codes; empty: any from 200 to 299.
    pub expect: Vec<u16>,
    /// Outputs by the JSON path of their value in the answer's body.
    pub outputs: Vec<(Name, String)>,
    /// Whether a header or the body was made from a secret.
    pub careful: bool,
}

/// Headers and bodies may carry secrets.
impl std::fmt::Debug for Ask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ask({} {})", self.method, self.url)
    }
}

impl Ask {
    /// Renders a request.
    pub fn new(http: &Http, scope: &dyn Scope) -> Result<Self, Unable> {
        let unable = |error: EvalError| Unable::logical(error.to_string());
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

    /// Whether a status code was asked for.
    pub(super) fn expects(&self, status: u16) -> bool {
        match self.expect.as_slice() {
            [] => (200..300).contains(&status),
            expected => expected.contains(&status),
        }
    }

    /// Whether it carries a secret, from where ever it got there.
    pub(super) fn carries_secret(&self, mask: &Mask) -> bool {
        let mut values = self
            .headers
            .iter()
            .map(|(_, value)| value)
            .chain(&self.body);
        self.careful || values.any(|text| mask.text(text) != *text)
    }

    /// The method, the address and the headers, if they are well-formed.
    pub(super) fn parts(&self) -> Result<(Method, Url, HeaderMap), Unable> {
        let method = Method::from_bytes(self.method.as_bytes())
            .map_err(|_| Unable::logical(format!("`{}` is not a method", self.method)))?;
        let url = Url::parse(&self.url)
            .map_err(|error| Unable::logical(format!("`{}` is not a URL: {error}", self.url)))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Unable::logical(format!(
                "`{url}` is neither http nor https"
            )));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let known = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| Unable::logical(format!("`{name}` is not the name of a header")))?;
            let mut value = HeaderValue::from_str(value).map_err(|_| {
                Unable::logical(format!(
                    "the header `{name}` has a value that cannot be sent"
                ))
            })?;
            value.set_sensitive(true);
            headers.append(known, value);
        }
        Ok((method, url, headers))
    }
}

/// Whether a template of a request reads a secret.
fn reads_secret(http: &Http) -> bool {
    let templates = http.headers.iter().map(|(_, value)| value);
    let mut refs = templates.chain(&http.body).flat_map(Template::refs);
    refs.any(|read| matches!(read.name, Ref::Secret(_)))
}
