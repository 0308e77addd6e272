use std::sync::OnceLock;
use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};
use reqwest::{NoProxy, Proxy, Response, StatusCode};
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Ask, Job, job};
use crate::exec::attempt::conclude;
use crate::exec::log::{Stream, Writer};
use crate::exec::supervise::{Sink as _, told, wait_until};
use crate::exec::{Host, OnOutput, Stop, Unable};
use crate::machine::Exit;
use crate::model::Object;

/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(30);

/// How often an answer may point elsewhere.
const REDIRECTS: usize = 10;

/// The largest body that outputs are read from, in bytes.
const LARGEST: usize = 16 * 1024 * 1024;

/// Sends requests. Costs nothing until the first one.
#[derive(Debug, Default)]
pub struct Client {
    proxies: Host,
    open: OnceLock<Result<reqwest::Client, String>>,
    /// For requests that carry secrets.
    careful: OnceLock<Result<reqwest::Client, String>>,
    /// For what is only told.
    posts: OnceLock<Result<reqwest::Client, String>>,
}

impl Client {
    /// A client that uses the proxies that `passed`, the part of the engine's environment that
    /// steps may see, names as usual: `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`.
    pub fn new(passed: &Host) -> Self {
        let names = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"];
        let known = passed.iter().filter_map(|(name, value)| {
            let name = name.to_lowercase();
            names
                .contains(&name.as_str())
                .then(|| (name, value.clone()))
        });
        Self {
            proxies: known.collect(),
            ..Self::default()
        }
    }

    /// Sends a request, waits for its answer and keeps its body like the output of a process. Says how
    /// it ended and which outputs it gave.
    pub async fn run(
        &self,
        job: Job,
        mut stop: watch::Receiver<Stop>,
        on_output: Option<OnOutput>,
    ) -> (Exit, Object) {
        let mask = job.log.mask.clone();
        let until = job
            .timeout
            .and_then(|timeout| Instant::now().checked_add(timeout));
        let mut writer = Writer::new(job.log.clone(), on_output);
        let ended = tokio::select! {
            answered = self.exchange(&job, &mut writer) => answered.map_err(Exit::from),
            () = told_to_end(&mut stop) => Err(Exit::Cancelled),
            () = wait_until(until) => Err(Exit::TimedOut),
        };
        let (exit, outputs) = match ended {
            Ok(body) => {
                let outputs = job::read(&job.ask.outputs, &job.outputs, &body, &mask);
                (Exit::Done, outputs)
            }
            Err(exit) => (exit, Ok(Object::new())),
        };
        let (exit, outputs, _) = conclude(exit, outputs, writer, &mask);
        (exit, outputs)
    }

    /// Sends the request; gives the body of the answer, if outputs are to be read from it.
    async fn exchange(&self, job: &Job, writer: &mut Writer) -> Result<Vec<u8>, Unable> {
        let (method, url, headers) = job.ask.parts()?;
        let shown = format!("{method} {}", bare(&url));
        let client = self.client(job.ask.carries_secret(&job.log.mask))?;
        let mut request = client.request(method, url).headers(headers);
        if let Some(body) = &job.ask.body {
            request = request.body(body.clone());
        }
        let sent = request.send().await;
        let mut answer = sent.map_err(|error| failed(&shown, &error))?;
        let status = answer.status();
        let kept = receive(&shown, &mut answer, !job.ask.outputs.is_empty(), writer).await;
        judged(&job.ask, &shown, status)?;
        kept
    }

    fn client(&self, careful: bool) -> Result<&reqwest::Client, Unable> {
        let slot = if careful { &self.careful } else { &self.open };
        self.made(
            slot,
            Policy::custom(move |attempt| redirect(attempt, careful)),
        )
    }

    /// A client that is sent nowhere else.
    pub(super) fn poster(&self) -> Result<&reqwest::Client, Unable> {
        self.made(&self.posts, Policy::none())
    }

    fn made<'c>(
        &self,
        slot: &'c OnceLock<Result<reqwest::Client, String>>,
        policy: Policy,
    ) -> Result<&'c reqwest::Client, Unable> {
        slot.get_or_init(|| self.build(policy).map_err(|error| cause(&error)))
            .as_ref()
            .map_err(|why| Unable::environmental(format!("requests cannot be sent: {why}")))
    }

    fn build(&self, policy: Policy) -> reqwest::Result<reqwest::Client> {
        // Whoever comes second finds the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("wf/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .redirect(policy)
            .no_proxy();
        for proxy in self.proxies()? {
            builder = builder.proxy(proxy);
        }
        builder.build()
    }

    fn proxies(&self) -> reqwest::Result<Vec<Proxy>> {
        let known = |name: &str| self.proxies.get(name).filter(|value| !value.is_empty());
        let except = known("no_proxy").and_then(|list| NoProxy::from_string(list));
        let made = [
            known("http_proxy").map(Proxy::http),
            known("https_proxy").map(Proxy::https),
            known("all_proxy").map(Proxy::all),
        ];
        let made = made.into_iter().flatten();
        made.map(|proxy| Ok(proxy?.no_proxy(except.clone())))
            .collect()
    }
}

/// Follows a redirection, but not to another host with a secret, and not from https to http.
fn redirect(attempt: Attempt<'_>, careful: bool) -> reqwest::redirect::Action {
    if attempt.previous().len() > REDIRECTS {
        return attempt.error(format!("more than {REDIRECTS} redirections"));
    }
    let Some(from) = attempt.previous().last() else {
        return attempt.follow();
    };
    let to = attempt.url();
    if careful && from.origin() != to.origin() {
        let why = format!(
            "a redirection to {} would take a secret there",
            to.origin().ascii_serialization()
        );
        return attempt.error(why);
    }
    if from.scheme() == "https" && to.scheme() != "https" {
        return attempt.error("a redirection from https to http");
    }
    attempt.follow()
}

/// Writes the body to the log as it comes; gives it, if it is wanted.
async fn receive(
    shown: &str,
    answer: &mut Response,
    wanted: bool,
    writer: &mut Writer,
) -> Result<Vec<u8>, Unable> {
    let mut body = Vec::new();
    while let Some(bytes) = answer
        .chunk()
        .await
        .map_err(|error| failed(shown, &error))?
    {
        writer.take(Stream::Out, &bytes);
        if wanted {
            body.extend_from_slice(&bytes);
        }
        if body.len() > LARGEST {
            let limit = LARGEST / 1024 / 1024;
            let why = format!("{shown}: outputs are read from an answer of at most {limit} MiB");
            return Err(Unable::logical(why));
        }
    }
    Ok(body)
}

/// Whether the status is one that was asked for. Too many requests and a server's own failures
/// are the world's fault.
fn judged(ask: &Ask, shown: &str, status: StatusCode) -> Result<(), Unable> {
    if ask.expects(status.as_u16()) {
        return Ok(());
    }
    let expected = match ask.expect.as_slice() {
        [] => "200 to 299".to_owned(),
        codes => codes
            .iter()
            .map(u16::to_string)
            .collect::<Vec<_>>()
            .join(" or "),
    };
    let why = format!("{shown} answered {status}, not {expected}");
    Err(blamed(status, why))
}

/// Whose fault a status is.
pub(super) fn blamed(status: StatusCode, why: String) -> Unable {
    match status.as_u16() {
        408 | 425 | 429 | 500..=599 => Unable::environmental(why),
        _ => Unable::logical(why),
    }
}

pub(super) fn failed(shown: &str, error: &reqwest::Error) -> Unable {
    let cause = cause(error);
    if error.is_redirect() {
        return Unable::logical(format!("{shown}: {cause}"));
    }
    Unable::environmental(if error.is_dns() {
        format!("{shown}: the host is not known: {cause}")
    } else if error.is_timeout() {
        format!("{shown}: no connection in time")
    } else if error.is_connect() {
        format!("{shown}: no connection: {cause}")
    } else {
        format!("{shown}: the connection broke: {cause}")
    })
}

/// The innermost cause: the others only say where.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// An address without what may be private in it.
fn bare(url: &reqwest::Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    url.to_string()
}

async fn told_to_end(stop: &mut watch::Receiver<Stop>) {
    while *stop.borrow_and_update() == Stop::No {
        told(stop).await;
    }
}
