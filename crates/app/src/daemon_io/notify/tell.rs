use std::time::Duration;

use super::{GoalNotification, NotificationChannel};
use wf_base::time::Clock;
use wf_exec::http::HttpClient;
use wf_model::FailureClass;

/// The most attempts to send a notification.
pub const MAX_SEND_TRIES: u32 = 3;

/// A failed notification.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} (attempts: {tries})")]
pub struct NotificationError {
    /// The number of attempts.
    pub tries: u32,
    /// The reason why the last attempt failed, in one sentence without secrets.
    pub reason: String,
}

/// Sends a notification; returns the number of attempts. `wait` gives the pause after a failed
/// attempt, the first being 1, from the one its receiver asked for. May be dropped at any point; a running command ends then.
pub async fn send_with_retries(
    notice: &GoalNotification,
    channel: &NotificationChannel,
    client: &HttpClient,
    clock: &dyn Clock,
    wait: impl Fn(u32, Option<Duration>) -> Duration,
) -> Result<u32, NotificationError> {
    let mut tries = 1;
    loop {
        let Err(error) = channel.send_once(notice, client, clock.now()).await else {
            return Ok(tries);
        };
        if error.failure_class == FailureClass::Logical || tries >= MAX_SEND_TRIES {
            let reason = error.reason;
            return Err(NotificationError { tries, reason });
        }
        tokio::time::sleep(wait(tries, error.retry_after)).await;
        tries += 1;
    }
}
