//! The client of requests: its proxies, its limits, and the meaning of a status.

use std::{sync::OnceLock, time::Duration};

use reqwest::{
    NoProxy, Proxy, Response,
    header::RETRY_AFTER,
    redirect::{Attempt, Policy},
};
use tokio::{sync::watch, time::Instant};

use wf_base::time::{Moment, format_duration, parse_retry_after};
use wf_core::machine::WorkExit;
use wf_model::JsonObject;

use super::{HttpJob, HttpOutcome, HttpRequest, job};
use crate::{
    HostEnv, OnOutput,
    log::{LogStream, LogWriter},
    processes::supervise::{OutputSink as _, next_stop, wait_until},
    work::attempt::conclude,
    work_error::{StopLevel, WorkError},
};

/// The timeout for a server to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum number of redirects.
const MAX_REDIRECTS: usize = 10;

/// The largest response body from which outputs are read, in bytes.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// Sends requests. Set up lazily by the first one.
#[derive(Debug, Default)]
pub struct HttpClient {
    proxies: HostEnv,
    open: OnceLock<reqwest::Result<reqwest::Client>>,
    /// The client for requests carrying secrets.
    careful: OnceLock<reqwest::Result<reqwest::Client>>,
    /// The client for notifications.
    posts: OnceLock<reqwest::Result<reqwest::Client>>,
}

impl HttpClient {
    /// Creates a client using the proxies named as usual (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`) in
    /// `passed`, the part of the engine's environment that steps may see.
    pub fn new(passed: &HostEnv) -> Self {
        let names = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"];
        let values = passed.iter().filter_map(|(name, value)| {
            let name = name.to_lowercase();
            names.contains(&name.as_str()).then(|| (name, value.clone()))
        });
        Self { proxies: values.collect(), ..Self::default() }
    }

    /// Sends a request, waits for the response and logs its body like the output of a process.
    pub async fn run_job(
        &self,
        job: HttpJob,
        mut stop: watch::Receiver<StopLevel>,
        on_output: Option<OnOutput>,
    ) -> HttpOutcome {
        let mask = job.log.mask.clone();
        let until = job.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut writer = LogWriter::new(job.log.clone(), on_output);
        let ended = tokio::select! {
            answered = self.exchange(&job, &mut writer) => {
                answered.map_err(|error| (error.retry_after, WorkExit::from(error)))
            }
            () = wait_for_stop(&mut stop) => Err((None, WorkExit::Cancelled)),
            () = wait_until(until) => Err((None, WorkExit::TimedOut)),
        };
        let (exit, outputs, retry_after) = match ended {
            Ok(body) => {
                let outputs = job::read_outputs(&job.request.outputs, &job.outputs, &body, &mask);
                (WorkExit::Completed, outputs, None)
            }
            Err((retry_after, exit)) => (exit, Ok(JsonObject::new()), retry_after),
        };
        let (exit, outputs, _) = conclude(exit, outputs, writer, &mask);
        HttpOutcome { exit, outputs, retry_after }
    }

    /// Sends the request; returns the response body if outputs are to be read from it.
    async fn exchange(&self, job: &HttpJob, writer: &mut LogWriter) -> Result<Vec<u8>, WorkError> {
        let (method, url, headers) = job.request.parts()?;
        let shown = format!("{method} {}", bare(&url));
        let client = self.client(job.request.carries_secret(&job.log.mask))?;
        let mut request = client.request(method, url).headers(headers);
        if let Some(body) = &job.request.body {
            request = request.body(body.clone());
        }
        let sent = request.send().await;
        let mut answer = sent.map_err(|error| request_error(&shown, &error))?;
        let status = answer.status();
        let received = receive(&shown, &mut answer, !job.request.outputs.is_empty(), writer).await;
        if job.request.expects(status.as_u16()) {
            return received;
        }
        Err(unexpected_status(&job.request, &shown, &answer, job.log.clock.now()))
    }

    fn client(&self, careful: bool) -> Result<&reqwest::Client, WorkError> {
        let slot = if careful { &self.careful } else { &self.open };
        self.build_request(slot, Policy::custom(move |attempt| redirect(attempt, careful)))
    }

    /// Returns a client following no redirects.
    pub(super) fn poster(&self) -> Result<&reqwest::Client, WorkError> {
        self.build_request(&self.posts, Policy::none())
    }

    fn build_request<'c>(
        &self,
        slot: &'c OnceLock<reqwest::Result<reqwest::Client>>,
        policy: Policy,
    ) -> Result<&'c reqwest::Client, WorkError> {
        let built = slot.get_or_init(|| self.build(policy)).as_ref();
        built.map_err(|error| WorkError::environmental(format!("cannot send requests: {}", cause(error))))
    }

    fn build(&self, policy: Policy) -> reqwest::Result<reqwest::Client> {
        // A second call finds the provider of the first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("wf/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(policy)
            .no_proxy();
        for proxy in self.proxies()? {
            builder = builder.proxy(proxy);
        }
        builder.build()
    }

    fn proxies(&self) -> reqwest::Result<Vec<Proxy>> {
        let value_of = |name: &str| self.proxies.get(name).filter(|value| !value.is_empty());
        let except = value_of("no_proxy").and_then(|list| NoProxy::from_string(list));
        let proxies = [
            value_of("http_proxy").map(Proxy::http),
            value_of("https_proxy").map(Proxy::https),
            value_of("all_proxy").map(Proxy::all),
        ];
        let proxies = proxies.into_iter().flatten();
        proxies.map(|proxy| Ok(proxy?.no_proxy(except.clone()))).collect()
    }
}

/// Follows a redirect, but not to another host with a secret, and not from https to http.
fn redirect(attempt: Attempt<'_>, careful: bool) -> reqwest::redirect::Action {
    if attempt.previous().len() > MAX_REDIRECTS {
        return attempt.error(format!("more than {MAX_REDIRECTS} redirects"));
    }
    let Some(from) = attempt.previous().last() else {
        return attempt.follow();
    };
    let to = attempt.url();
    if careful && from.origin() != to.origin() {
        let reason = format!(
            "redirect to {} rejected: it would send a secret there",
            to.origin().ascii_serialization()
        );
        return attempt.error(reason);
    }
    if from.scheme() == "https" && to.scheme() != "https" {
        return attempt.error("redirect from https to http rejected");
    }
    attempt.follow()
}

/// Streams the body to the log; returns it if it is wanted.
async fn receive(
    shown: &str,
    answer: &mut Response,
    is_wanted: bool,
    writer: &mut LogWriter,
) -> Result<Vec<u8>, WorkError> {
    let mut body = Vec::new();
    while let Some(bytes) = answer.chunk().await.map_err(|error| request_error(shown, &error))? {
        writer.on_bytes(LogStream::Out, &bytes);
        if is_wanted {
            body.extend_from_slice(&bytes);
        }
        if body.len() > MAX_BODY_BYTES {
            let limit = MAX_BODY_BYTES / 1024 / 1024;
            let reason = format!(
                "{shown}: response exceeds {limit} MiB, the limit for reading \
                outputs"
            );
            return Err(WorkError::logical(reason));
        }
    }
    Ok(body)
}

/// Returns the error of a response whose status is not an accepted one.
fn unexpected_status(request: &HttpRequest, shown: &str, answer: &Response, now: Moment) -> WorkError {
    let expected = match request.expect.as_slice() {
        [] => "200 to 299".to_owned(),
        codes => codes.iter().map(u16::to_string).collect::<Vec<_>>().join(" or "),
    };
    let reason = format!("{shown}: got status {}, expected {expected}", answer.status());
    classify_status(answer, reason, now)
}

/// Classifies an unexpected status, and reads when to try again. Rate limiting and server errors count as environmental.
pub(super) fn classify_status(answer: &Response, mut reason: String, now: Moment) -> WorkError {
    let wait_header = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = wait_header.and_then(|text| parse_retry_after(text, now));
    if let Some(wait) = retry_after {
        reason += &format!("; the server asks to wait for {} (`retry-after`)", format_duration(wait));
    }
    let error = match answer.status().as_u16() {
        408 | 425 | 429 | 500..=599 => WorkError::environmental(reason),
        _ => WorkError::logical(reason),
    };
    WorkError { retry_after, ..error }
}

pub(super) fn request_error(shown: &str, error: &reqwest::Error) -> WorkError {
    let cause = cause(error);
    if error.is_redirect() {
        return WorkError::logical(format!("{shown}: {cause}"));
    }
    WorkError::environmental(if error.is_dns() {
        format!("{shown}: cannot resolve host: {cause}")
    } else if error.is_timeout() {
        format!("{shown}: connection timed out")
    } else if error.is_connect() {
        format!("{shown}: cannot connect: {cause}")
    } else {
        format!("{shown}: connection lost: {cause}")
    })
}

/// Returns the innermost cause: the outer ones only add locations.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// Returns an address without credentials and fragment.
fn bare(url: &reqwest::Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    url.to_string()
}

async fn wait_for_stop(stop: &mut watch::Receiver<StopLevel>) {
    while *stop.borrow_and_update() == StopLevel::No {
        next_stop(stop).await;
    }
}
