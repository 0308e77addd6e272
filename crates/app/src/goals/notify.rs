use std::{sync::Arc, time::Duration};

use serde::Deserialize as _;
use serde_json::Value;

use crate::{
    Caller, CliExitCode, CommandError, Host,
    approve::{check_accepted, check_programs_accepted},
    daemon_io::notify::{
        self, GoalNotification, NotificationChannel, NotificationCommand, NotificationError,
        NotificationWebhook, WebhookSecret, WebhookSecretError,
    },
    goals::FileLock,
    specs::load::{self, LoadedPlan},
};
use wf_base::{
    redact::SecretMask,
    time::Moment,
    untrusted::{WARN, paint},
};
use wf_core::goal::{
    NotificationMessage, NotificationOrder, NotificationRecipient, RecipientUrl, ReconciliationPart,
};
use wf_exec::{
    ProcessExecutor,
    http::HttpClient,
    secret::{PlanSecrets, SecretError, SecretText},
};
use wf_lang::DiskFiles;
use wf_store::{NotificationRow, Store, StoreDurability, StoreReader, allow_no_state};

/// The pause after a failed attempt.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause a receiver can ask for: after a longer one its notification is sent with the next.
const MAX_ASKED_PAUSE: Duration = Duration::from_mins(1);

/// The number of rounds to send a notification, each with several attempts.
const MAX_SEND_ROUNDS: u32 = 5;

/// The lock file of the sender of notifications.
const SENDER_LOCK: &str = "tell.lock";

/// Sends pending notifications. A failure is reported, and tried again when the next notification
/// is sent, but not forever.
pub fn send_notifications(caller: &dyn Caller) -> Result<(), CommandError> {
    let workspace = caller.host().workspace();
    let Some(reader) = allow_no_state(StoreReader::open(&workspace.state))? else {
        return Ok(());
    };
    if reader.notifications().unsent()?.is_empty() {
        return Ok(());
    }
    // Two senders would send the same notification twice.
    let _turn = FileLock::lock_blocking(&workspace.state, SENDER_LOCK)?;
    let open = reader.notifications().unsent()?;
    let store = Store::open(&workspace.state, StoreDurability::Full, caller.host().clock())?;
    for row in open {
        let sent = send_row(caller, &reader, &row).map_err(|error| error.to_string());
        if let Err(reason) = &sent {
            let (warning, goal) = (paint(WARN, "warning:"), &row.goal);
            caller.message_line(&format!("{warning} cannot send a notification about goal {goal}: {reason}"));
        }
        let last = row.tries + 1 >= MAX_SEND_ROUNDS;
        let noted = store.notifications().record_try(row.id, sent.err(), last, caller.host().now());
        noted.wait()?;
    }
    Ok(())
}

/// The reason why a notification about a goal was not sent.
#[derive(Debug, thiserror::Error)]
pub enum GoalNotificationError {
    #[error("its record cannot be read: {0}")]
    Record(#[from] serde_json::Error),
    /// The goal cannot be loaded, or may not send notifications.
    #[error("{0}")]
    Goal(String),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    SigningKey(#[from] WebhookSecretError),
    #[error(transparent)]
    System(#[from] std::io::Error),
    #[error(transparent)]
    Undelivered(#[from] NotificationError),
}

/// Sends one notification.
fn send_row(
    caller: &dyn Caller,
    reader: &StoreReader,
    row: &NotificationRow,
) -> Result<(), GoalNotificationError> {
    let order = NotificationOrder::deserialize(&row.body)?;
    let loaded = load_reported_goal(caller, reader, &order.message);
    let allowed = loaded
        .and_then(|loaded| check_notification_allowed(caller, &loaded, &order.message).map(|()| loaded));
    let loaded = allowed.map_err(|error| GoalNotificationError::Goal(error.message))?;
    send_notification(caller.host(), &loaded, row)
}

/// The goal as it was when the reported reconciliation ran; without one, as it is.
fn load_reported_goal(
    caller: &dyn Caller,
    reader: &StoreReader,
    message: &NotificationMessage,
) -> Result<LoadedPlan, CommandError> {
    if let Some(run) = message.runs.first() {
        return load::load_recorded_as(caller, reader, run, Some(ReconciliationPart::Look));
    }
    let workspace = caller.host().workspace();
    let files = DiskFiles::new(&workspace.root);
    Ok(load::load_goal(caller, &files, workspace.clone(), &message.path, ReconciliationPart::Look)?.0)
}

/// Refuses to execute the notification command of a goal without an acceptance as it is. The texts
/// of a run were accepted when it started: only the programs may have changed.
fn check_notification_allowed(
    caller: &dyn Caller,
    loaded: &LoadedPlan,
    message: &NotificationMessage,
) -> Result<(), CommandError> {
    let of_run = !message.runs.is_empty();
    let verified =
        if of_run { check_programs_accepted(caller, loaded)? } else { check_accepted(caller, loaded)? };
    let Err(refusal) = verified else { return Ok(()) };
    let message = format!("{} may not send notifications: {refusal}", loaded.path);
    Err(CommandError::new(CliExitCode::Approval, message))
}

fn send_notification(
    host: &Host,
    loaded: &LoadedPlan,
    row: &NotificationRow,
) -> Result<(), GoalNotificationError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(send_goal_notification(host, loaded, &row.body, row.at))
}

/// Sends a notification about a goal to its recipient, with several attempts, wherever the texts of the goal are loaded.
pub async fn send_goal_notification(
    host: &Host,
    loaded: &LoadedPlan,
    body: &Value,
    at: Moment,
) -> Result<(), GoalNotificationError> {
    let order = NotificationOrder::deserialize(body)?;
    let channel = notification_channel(host, loaded, &order.by).await?;
    let client = HttpClient::new(&host.vars());
    let notice = notification(&order.message, at);
    let clock = host.clock();
    notify::send_with_retries(&notice, &channel, &client, &*clock, send_pause).await?;
    Ok(())
}

/// Returns the pause after a failed attempt: its own, or the one the receiver asked for if that is longer.
fn send_pause(tries: u32, requested: Option<Duration>) -> Duration {
    let own = RETRY_PAUSE * 4u32.pow(tries.saturating_sub(1).min(3));
    own.max(requested.unwrap_or_default().min(MAX_ASKED_PAUSE))
}

fn notification(message: &NotificationMessage, at: Moment) -> GoalNotification {
    let NotificationMessage { goal, title, news, reason, slot, runs, .. } = message;
    let (goal, transition) = (goal.to_string(), news.clone());
    let name = title.as_ref().unwrap_or(&goal);
    let colon = if reason.is_empty() { "" } else { ": " };
    let summary = format!("{name} · {transition}{colon}{reason}");
    GoalNotification {
        id: GoalNotification::id_of(&goal, &transition, at),
        goal,
        transition,
        slot: *slot,
        at,
        summary,
        runs: runs.iter().map(ToString::to_string).collect(),
        url: None,
    }
}

/// The channel of a notification, with the secrets of the goal.
async fn notification_channel(
    host: &Host,
    loaded: &LoadedPlan,
    recipient: &NotificationRecipient,
) -> Result<NotificationChannel, GoalNotificationError> {
    let declared = loaded.plan.parts().secrets.clone();
    let vars = Arc::new(host.vars());
    let root = loaded.workspace.root.clone();
    let (state, executor) = (&loaded.workspace.state, ProcessExecutor::InProcess);
    let secrets = PlanSecrets::new(declared, Arc::clone(&vars), &root, state, executor);
    let (url, key) = match recipient {
        NotificationRecipient::Exec(argv) => {
            let known_secrets = secrets.known().await;
            let mut names: Vec<String> = PASSED_VARIABLES.map(str::to_owned).to_vec();
            names.extend(loaded.config.env_pass.iter().cloned());
            return Ok(NotificationChannel::Command(NotificationCommand {
                argv: argv.clone(),
                cwd: root,
                env: notify::passed_variables(&vars, &names),
                mask: Arc::new(SecretMask::new(known_secrets.iter().map(SecretText::expose))),
            }));
        }
        NotificationRecipient::Webhook { url, secret } => (url, secret),
    };
    let url = match url {
        RecipientUrl::Text(text) => text.clone(),
        RecipientUrl::Secret(name) => secrets.get_secret(name).await?.expose().to_owned(),
    };
    let key = match key {
        Some(name) => Some(secrets.get_secret(name).await?),
        None => None,
    };
    let secret = key.map(|key| WebhookSecret::parse(key.expose())).transpose()?;
    Ok(NotificationChannel::Webhook(NotificationWebhook { url, secret }))
}

/// The environment variables of a command, besides those the configuration passes on.
const PASSED_VARIABLES: [&str; 3] = ["PATH", "HOME", "LANG"];

#[cfg(test)]
mod tests {
    use super::send_pause;
    use std::time::Duration;

    #[test]
    fn the_longer_pause_counts_up_to_a_minute() {
        let seconds =
            |tries, requested: Option<u64>| send_pause(tries, requested.map(Duration::from_secs)).as_secs();
        assert_eq!([1, 2, 3].map(|tries| seconds(tries, None)), [1, 4, 16]);
        assert_eq!([Some(2), Some(7), Some(31_536_000)].map(|requested| seconds(2, requested)), [4, 7, 60]);
    }
}
