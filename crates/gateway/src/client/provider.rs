use std::{collections::BTreeMap, sync::OnceLock, time::Duration};

use reqwest::{
    NoProxy, Proxy, Response,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER},
    redirect::Policy,
};
use tokio::time::timeout;
use wf_base::time::Moment;
use wf_core::agent::{ModelReply, ModelRequest};
use wf_model::{ModelApi, TokenUsage};

use super::{
    ModelKey, ProviderAddress,
    receive::{receive_error, receive_stream, receive_text},
};
use crate::{
    retry::{ModelFailure, ModelFailureKind, classify_status, classify_wire},
    wire::{
        ReplyStream, WireRequest, decode_reply, encode_request, open_stream, read_error_body, usage_so_far,
    },
};

/// The timeout for a provider to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The version of Anthropic's format.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The bounds of a reply.
#[derive(Clone, Copy, Debug)]
pub struct ClientLimits {
    /// The longest time without a byte of a reply that has begun.
    pub idle: Duration,
    /// The maximum size of a reply, in bytes.
    pub body: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self { idle: Duration::from_mins(2), body: 8 * 1024 * 1024 }
    }
}

/// A call of a model over HTTP.
#[derive(Clone, Copy, Debug)]
pub struct ProviderCall<'a> {
    /// The wire format.
    pub api: ModelApi,
    pub address: &'a ProviderAddress,
    /// The provider's name of the model.
    pub model: &'a str,
    /// The key; `None`: the provider wants none.
    pub key: Option<&'a ModelKey>,
    pub request: &'a ModelRequest,
    /// The maximum tokens of the reply.
    pub max_output: u64,
    /// The maximum time.
    pub timeout: Duration,
    /// The current time, to which a date in `retry-after` is compared.
    pub now: Moment,
}

/// A failed call, and what it will be billed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedSend {
    pub failure: ModelFailure,
    /// The tokens of a reply that broke off.
    pub usage: TokenUsage,
}

impl From<ModelFailure> for FailedSend {
    fn from(failure: ModelFailure) -> Self {
        Self { failure, usage: TokenUsage::default() }
    }
}

/// Sends calls. Set up lazily by the first one.
#[derive(Debug, Default)]
pub struct ProviderClient {
    proxies: BTreeMap<String, String>,
    limits: ClientLimits,
    client: OnceLock<reqwest::Result<reqwest::Client>>,
}

impl ProviderClient {
    /// Creates a client using `https_proxy`, `all_proxy` and `no_proxy` of an environment, in lower or upper case.
    /// Plain HTTP stays on this machine, so it uses no proxy.
    pub fn new(environment: &BTreeMap<String, String>, limits: ClientLimits) -> Self {
        let proxies = environment.iter().map(|(name, value)| (name.to_lowercase(), value.clone())).collect();
        Self { proxies, limits, client: OnceLock::new() }
    }

    /// Sends a call and waits for its reply.
    pub async fn send(&self, call: &ProviderCall<'_>) -> Result<ModelReply, FailedSend> {
        let mut stream = open_stream(call.api);
        let ended = if let Ok(ended) = timeout(call.timeout, self.exchange(call, &mut *stream)).await {
            ended
        } else {
            let limit = call.timeout.as_secs_f64();
            let message = format!("no complete reply within {limit} s, the `timeout` of the model");
            Err(ModelFailure::new(ModelFailureKind::TimedOut, message))
        };
        let usage = usage_so_far(&*stream, call.request);
        let reply = match ended {
            Ok(Some(whole)) => Ok(whole),
            Ok(None) => stream.finish().map_err(|error| classify_wire(&error)),
            Err(failure) => Err(failure),
        };
        reply.map_err(|mut failure| {
            if let Some(key) = call.key {
                failure.message = key.mask(&failure.message);
            }
            FailedSend { failure, usage }
        })
    }

    /// Returns the reply if it came whole; `None`: it is in `stream`.
    async fn exchange(
        &self,
        call: &ProviderCall<'_>,
        stream: &mut dyn ReplyStream,
    ) -> Result<Option<ModelReply>, ModelFailure> {
        let wire = WireRequest {
            request: call.request,
            model: call.model,
            max_output: call.max_output,
            stream: true,
            is_inventor: call.address.is_inventor(),
        };
        let no_format = || ModelFailure::misconfigured(format!("`{}` is no format of HTTP", call.api));
        let body = encode_request(call.api, &wire).ok_or_else(no_format)?;
        let request =
            self.client()?.post(call.address.url().clone()).headers(headers(call)).body(body.to_string());
        let mut answer = request.send().await.map_err(|error| send_failure(call.address, &error))?;
        ensure_success(call, &mut answer).await?;
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().to_ascii_lowercase();
        if kind.contains("html") {
            let message =
                format!("{} replied with a web page: check `base_url` in wf.yaml", call.address.origin());
            return Err(ModelFailure::new(ModelFailureKind::BadReply, message));
        }
        // A server that cannot stream replies as it can.
        if kind.contains("json") {
            let text = receive_text(&mut answer, &self.limits).await?;
            return decode_reply(call.api, &text).map(Some).map_err(|error| classify_wire(&error));
        }
        receive_stream(&mut answer, &self.limits, stream).await.map(|()| None)
    }

    fn client(&self) -> Result<&reqwest::Client, ModelFailure> {
        let unfit = |error| ModelFailure::misconfigured(format!("cannot send requests: {}", cause(error)));
        self.client.get_or_init(|| self.build()).as_ref().map_err(unfit)
    }

    fn build(&self) -> reqwest::Result<reqwest::Client> {
        // A second call finds the provider of the first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("wf/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(Policy::none())
            .no_proxy();
        let proxy_of = |name: &str| self.proxies.get(name).filter(|value| !value.is_empty());
        if let Some(proxy) = proxy_of("https_proxy").or_else(|| proxy_of("all_proxy")) {
            let except = proxy_of("no_proxy").and_then(|list| NoProxy::from_string(list));
            builder = builder.proxy(Proxy::https(proxy)?.no_proxy(except));
        }
        builder.build()
    }
}

fn headers(call: &ProviderCall<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    let (name, before) = match call.api {
        ModelApi::Anthropic => {
            headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
            ("x-api-key", "")
        }
        _ => ("authorization", "Bearer "),
    };
    // A key has visible characters only, so it always fits.
    let value = call.key.map(|key| HeaderValue::from_str(&format!("{before}{}", key.reveal())));
    if let Some(Ok(mut value)) = value {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    headers
}

/// Fails if the status is no success.
async fn ensure_success(call: &ProviderCall<'_>, answer: &mut Response) -> Result<(), ModelFailure> {
    let status = answer.status();
    if status.is_success() {
        return Ok(());
    }
    let header = |name| answer.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if status.is_redirection() {
        let target = header(LOCATION).and_then(|target| call.address.url().join(target).ok());
        let target = target.map_or("another address".into(), |url| url.origin().ascii_serialization());
        let message = format!(
            "{} redirects to {target}, and a key is not sent on: if that is right, make it `base_url` in wf.yaml",
            call.address.origin()
        );
        return Err(ModelFailure::new(ModelFailureKind::Redirected, message));
    }
    let retry_after = header(RETRY_AFTER).map(str::to_owned);
    let provider_message = read_error_body(&receive_error(answer).await);
    Err(classify_status(status.as_u16(), &provider_message, retry_after.as_deref(), call.now))
}

fn send_failure(address: &ProviderAddress, error: &reqwest::Error) -> ModelFailure {
    let (origin, cause) = (address.origin(), cause(error));
    if error.is_timeout() {
        return ModelFailure::new(
            ModelFailureKind::TimedOut,
            format!("{origin} does not accept a connection"),
        );
    }
    let event = if error.is_dns() { "cannot resolve the host of" } else { "cannot reach" };
    ModelFailure::new(ModelFailureKind::Unreachable, format!("{event} {origin}: {cause}"))
}

/// Returns the innermost cause: the outer ones only add locations.
pub(super) fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
