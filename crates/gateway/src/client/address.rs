use reqwest::Url;
use std::{fmt, net::IpAddr};
use wf_model::ModelApi;

/// The address to which the calls of a model go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderAddress {
    url: Url,
    is_inventor: bool,
}

/// The reason why a `base_url` is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBaseUrl {
    /// It is no address.
    #[error("`base_url` is no address: it must be like https://host/v1")]
    Address,
    /// It is of another scheme.
    #[error("`base_url` begins with `{0}:`: it must begin with https:")]
    Scheme(String),
    /// It sends the key and the conversation in plain text.
    #[error(
        "`base_url` would send the key and the conversation to {0} unencrypted: use https, which only a server on \
         this machine (127.0.0.1, [::1], localhost) can do without"
    )]
    Unencrypted(String),
    /// It has a user or a password.
    #[error("`base_url` has a user or a password: give the key with `key`")]
    Credentials,
    /// It has a query or a fragment.
    #[error("`base_url` has a `?` or a `#`: it must be the beginning of an address")]
    Query,
}

impl ProviderAddress {
    /// Checks the base of an address and adds the path of the format; without a base, it is the inventor's own.
    /// A base without a path gets `/v1`.
    pub fn new(api: ModelApi, base_url: Option<&str>) -> Result<Self, BadBaseUrl> {
        let own = own_base(api);
        let url = Url::parse(base_url.unwrap_or(own)).map_err(|_| BadBaseUrl::Address)?;
        check(&url)?;
        let base = url.path().trim_end_matches('/').to_owned();
        let path = match api {
            // Users know this base with and without its version.
            ModelApi::Anthropic if base.ends_with("/v1") => format!("{base}/messages"),
            ModelApi::Anthropic => format!("{base}/v1/messages"),
            _ => {
                let base = if base.is_empty() { "/v1" } else { &base };
                let end = if api == ModelApi::OpenaiResponses { "responses" } else { "chat/completions" };
                format!("{base}/{end}")
            }
        };
        let is_inventor = url.host_str().is_some_and(|host| {
            Url::parse(own).is_ok_and(|own| own.host_str() == Some(host))
                || host.ends_with(".openai.azure.com")
        });
        let mut url = url;
        url.set_path(&path);
        Ok(Self { url, is_inventor })
    }

    /// Returns the whole address.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// True if calls go to the inventor of the format.
    pub fn is_inventor(&self) -> bool {
        self.is_inventor
    }

    /// Returns the origin, for messages.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }
}

fn own_base(api: ModelApi) -> &'static str {
    match api {
        ModelApi::Anthropic => "https://api.anthropic.com",
        ModelApi::Openai | ModelApi::OpenaiResponses | ModelApi::Scripted => "https://api.openai.com/v1",
    }
}

fn check(url: &Url) -> Result<(), BadBaseUrl> {
    let host = url.host_str().unwrap_or_default();
    match url.scheme() {
        "https" => {}
        "http" if is_this_machine(host) => {}
        "http" => return Err(BadBaseUrl::Unencrypted(host.to_owned())),
        other => return Err(BadBaseUrl::Scheme(other.to_owned())),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(BadBaseUrl::Credentials);
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(BadBaseUrl::Query);
    }
    Ok(())
}

/// True if a host is a name or an address of this machine no other machine can have.
fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The key of a model. Nothing shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct ModelKey(String);

/// The reason why a text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadModelKey {
    #[error("the key is empty")]
    Empty,
    /// It has a character a header cannot have.
    #[error("the key has a character that is no visible ASCII character, such as a blank or a line end")]
    Character,
}

impl ModelKey {
    /// Takes a key, which must fit into a header.
    pub fn new(text: impl Into<String>) -> Result<Self, BadModelKey> {
        let text = text.into();
        if text.is_empty() {
            Err(BadModelKey::Empty)
        } else if text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text))
        } else {
            Err(BadModelKey::Character)
        }
    }

    /// Returns the key, for the header.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns a text without the key, which providers quote in messages.
    pub(super) fn mask(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

impl fmt::Debug for ModelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ModelKey([key])")
    }
}
