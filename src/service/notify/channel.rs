use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::{Notice, Secret};
use crate::exec::http::{Client, Post};
use crate::exec::probe::{Probe, Probed};
use crate::exec::{Env, Hands, Host, Stop, Unable, process};
use crate::machine::Exit;
use crate::mask::Mask;
use crate::time::{Moment, format_duration};
use crate::untrusted::Untrusted;

/// The longest a command may take, and how long it has to end when that is over.
const COMMAND: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(2);

/// The longest a webhook may take.
const WEBHOOK: Duration = Duration::from_secs(10);

/// How much of what a command printed is told, in bytes.
const TOLD: usize = 4096;

/// How much is kept to find secrets in: one that is cut off at its end is not told.
const KEPT: usize = 4 * TOLD;

/// How much a command may print before it is ended, in bytes.
const MOST: u64 = 1024 * 1024;

/// How somebody is told.
#[derive(Clone, Debug)]
pub enum Channel {
    /// A command of theirs.
    Command(Command),
    /// A request to them.
    Webhook(Webhook),
}

/// A command that reads a notice from its standard input.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program and its arguments; no shell reads them.
    pub argv: Vec<String>,
    /// Where it runs; absolute.
    pub cwd: PathBuf,
    /// Its environment: see [`passed`].
    pub env: Env,
    /// What must not be told of what it prints.
    pub mask: Arc<Mask>,
}

/// Where a notice is posted.
#[derive(Clone)]
pub struct Webhook {
    /// The address, which may be a secret itself.
    pub url: String,
    /// What it is signed with; `None`: it is not.
    pub secret: Option<Secret>,
}

/// Addresses may be secret.
impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Webhook")
    }
}

/// Those of the variables of `host` that a command may see.
pub fn passed(host: &Host, names: &[String]) -> Env {
    let known = host.iter().filter(|(name, _)| names.contains(name));
    known
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

impl Channel {
    /// Tells it once.
    pub(super) async fn once(
        &self,
        notice: &Notice,
        client: &Client,
        now: Moment,
    ) -> Result<(), Unable> {
        let body = serde_json::to_string(notice)
            .map_err(|error| Unable::logical(format!("the notice cannot be written: {error}")))?;
        match self {
            Self::Command(command) => command.run(body).await,
            Self::Webhook(webhook) => client.post(webhook.post(&notice.id, now, body)).await,
        }
    }
}

impl Webhook {
    fn post(&self, id: &str, now: Moment, body: String) -> Post {
        let seconds = now.millis().div_euclid(1000);
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", seconds.to_string()),
        ];
        if let Some(secret) = &self.secret {
            headers.push(("webhook-signature", secret.sign(id, seconds, &body)));
        }
        Post {
            url: self.url.clone(),
            headers,
            body,
            timeout: WEBHOOK,
        }
    }
}

impl Command {
    async fn run(&self, body: String) -> Result<(), Unable> {
        self.run_within(body, COMMAND).await
    }

    /// Runs it; all that it started ends with it.
    pub(super) async fn run_within(&self, body: String, limit: Duration) -> Result<(), Unable> {
        let probe = Probe {
            command: process::Command {
                argv: self.argv.clone(),
                env: self.env.clone(),
                cwd: self.cwd.clone(),
                sandbox: None,
                pins: None,
                input: Some(body + "\n"),
            },
            timeout: limit,
            grace: GRACE,
            keep: KEPT,
            output: Some(MOST),
        };
        let (_go_on, stop) = watch::channel(Stop::No);
        let probed = Hands::Own.probe(probe, stop).await;
        let program = self.argv.first().map_or("", String::as_str);
        let why = match &probed.exit {
            exit if exit.is_success() => return Ok(()),
            Exit::Unable { why, class } => {
                return Err(Unable {
                    why: self.mask.text(why).into_owned(),
                    class: *class,
                });
            }
            Exit::Code { code } => format!("`{program}` ended with code {code}"),
            Exit::Signal { signal } => format!("`{program}` was ended by signal {signal}"),
            Exit::TimedOut => {
                let limit = format_duration(limit);
                format!("`{program}` took longer than {limit}")
            }
            Exit::Done | Exit::Cancelled | Exit::Interrupted => {
                format!("`{program}` did not end by itself")
            }
        };
        Err(Unable::environmental(why + &self.said(&probed)))
    }

    /// What it said about its failure, or else what it printed.
    fn said(&self, probed: &Probed) -> String {
        let bytes = if probed.err.is_empty() {
            &probed.out
        } else {
            &probed.err
        };
        let text = String::from_utf8_lossy(bytes);
        let text = Untrusted::printed(self.mask.text(&text).as_bytes()).block();
        let text = text.trim();
        let mut end = text.len().min(TOLD);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        match text.get(..end).unwrap_or_default() {
            "" => String::new(),
            told if end < text.len() => format!(": {told} …"),
            told => format!(": {told}"),
        }
    }
}
