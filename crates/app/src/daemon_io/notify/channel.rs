use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::sync::watch;

use super::{GoalNotification, WebhookSecret};
use wf_base::{
    redact::SecretMask,
    time::{Moment, format_duration},
    untrusted::UntrustedText,
};
use wf_core::machine::WorkExit;
use wf_exec::{
    HostEnv, ProcessEnv, ProcessExecutor, StopLevel, WorkError,
    http::{HttpClient, HttpNotification},
    probe::{ProbeJob, ProbeOutcome, ProbeRole},
    process,
};

/// The longest run time of a command, and its time to exit after that.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(2);

/// The longest duration of a webhook request.
const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(10);

/// The most reported bytes of a command's output.
const REPORTED_OUTPUT_LIMIT: usize = 4096;

/// The bytes kept to find secrets in: a secret cut off at the end must not be reported.
const KEPT_OUTPUT_LIMIT: usize = 4 * REPORTED_OUTPUT_LIMIT;

/// The most bytes a command may print before it is ended.
const OUTPUT_LIMIT: u64 = 1024 * 1024;

/// A channel for notifications.
#[derive(Clone, Debug)]
pub enum NotificationChannel {
    /// A command of the user.
    Command(NotificationCommand),
    /// A request to an address of the user.
    Webhook(NotificationWebhook),
}

/// A command reading a notification from its standard input.
#[derive(Clone, Debug)]
pub struct NotificationCommand {
    /// The program and its arguments; no shell reads them.
    pub argv: Vec<String>,
    /// The working directory; absolute.
    pub cwd: PathBuf,
    /// The environment: see [`passed_variables`].
    pub env: ProcessEnv,
    /// The secrets to mask in its output.
    pub mask: Arc<SecretMask>,
}

/// An address for posts of notifications.
#[derive(Clone)]
pub struct NotificationWebhook {
    /// The address, which may be a secret itself.
    pub url: String,
    /// The secret for signatures; `None`: requests are not signed.
    pub secret: Option<WebhookSecret>,
}

/// Hides the address, which may be secret.
impl std::fmt::Debug for NotificationWebhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Webhook")
    }
}

/// Returns the variables of `host` a command may see.
pub fn passed_variables(host: &HostEnv, names: &[String]) -> ProcessEnv {
    let variables = host.iter().filter(|(name, _)| names.contains(name));
    variables.map(|(name, value)| (name.clone(), value.clone())).collect()
}

impl NotificationChannel {
    /// Sends the notification once.
    pub(super) async fn send_once(
        &self,
        notice: &GoalNotification,
        client: &HttpClient,
        now: Moment,
    ) -> Result<(), WorkError> {
        let body = serde_json::to_string(notice)
            .map_err(|error| WorkError::logical(format!("cannot write the notification: {error}")))?;
        match self {
            Self::Command(command) => command.run(body).await,
            Self::Webhook(webhook) => client.post(webhook.post(&notice.id, now, body), now).await,
        }
    }
}

impl NotificationWebhook {
    fn post(&self, id: &str, now: Moment, body: String) -> HttpNotification {
        let seconds = now.millis().div_euclid(1000);
        let mut headers = vec![
            ("content-type".into(), "application/json".to_owned()),
            ("webhook-id".into(), id.to_owned()),
            ("webhook-timestamp".into(), seconds.to_string()),
        ];
        if let Some(secret) = &self.secret {
            headers.push(("webhook-signature".into(), secret.sign(id, seconds, &body)));
        }
        HttpNotification { url: self.url.clone(), headers, body, timeout: WEBHOOK_TIMEOUT }
    }
}

impl NotificationCommand {
    async fn run(&self, body: String) -> Result<(), WorkError> {
        self.run_within(body, COMMAND_TIMEOUT).await
    }

    /// Runs it; all processes it started end with it.
    pub(super) async fn run_within(&self, body: String, limit: Duration) -> Result<(), WorkError> {
        let probe = ProbeJob {
            command: process::ProcessCommand {
                argv: self.argv.clone(),
                env: self.env.clone(),
                cwd: self.cwd.clone(),
                sandbox: None,
                pins: None,
                input: Some(body + "\n"),
            },
            timeout: limit,
            grace: GRACE,
            keep: KEPT_OUTPUT_LIMIT,
            output: Some(OUTPUT_LIMIT),
            role: ProbeRole::Observer,
        };
        let (_go_on, stop) = watch::channel(StopLevel::No);
        let probed = ProcessExecutor::InProcess.probe(probe, stop).await;
        let program = self.argv.first().map_or("", String::as_str);
        let reason = match &probed.exit {
            exit if exit.is_success() => return Ok(()),
            WorkExit::Error { reason, failure_class } => {
                return Err(WorkError {
                    reason: self.mask.text(reason).into_owned(),
                    failure_class: *failure_class,
                    retry_after: None,
                });
            }
            WorkExit::Code { code } => format!("`{program}` exited with code {code}"),
            WorkExit::Signal { signal } => format!("`{program}` was killed by signal {signal}"),
            WorkExit::TimedOut => {
                let limit = format_duration(limit);
                format!("`{program}` timed out after {limit}")
            }
            WorkExit::Completed | WorkExit::Cancelled | WorkExit::Denied { .. } | WorkExit::Interrupted => {
                format!("`{program}` was stopped before it finished")
            }
        };
        Err(WorkError::environmental(reason + &self.masked_output(&probed)))
    }

    /// Returns its standard error, or else its standard output, with secrets masked.
    fn masked_output(&self, probed: &ProbeOutcome) -> String {
        let bytes = if probed.err.is_empty() { &probed.out } else { &probed.err };
        let text = String::from_utf8_lossy(bytes);
        let text = UntrustedText::printed(self.mask.text(&text).as_bytes()).block();
        let text = text.trim();
        let mut end = text.len().min(REPORTED_OUTPUT_LIMIT);
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
