//! Notifies the user of a transition: by a command, or by a webhook.
//!
//! A notification is a [`GoalNotification`]. It is tried up to [`MAX_SEND_TRIES`] times, with the same id, so that the
//! receiver can drop duplicates; the pauses come from the caller. Failures a retry cannot mend
//! (an invalid address, an answer like 404, a redirect) are not tried again.
//!
//! Webhooks are signed according to [Standard Webhooks](https://www.standardwebhooks.com/):
//! `webhook-id`, `webhook-timestamp` in seconds, and `webhook-signature`, which is `v1,` and the
//! HMAC-SHA256 of `id.timestamp.body` in base64.
//!
//! **Invariant:** no reason for a failure contains a secret: of an address it names the origin, of
//! a command's output the text with secrets masked.

mod channel;
mod notice;
mod sign;
mod tell;
#[cfg(test)]
mod tests;

pub use channel::{NotificationChannel, NotificationCommand, NotificationWebhook, passed_variables};
pub use notice::GoalNotification;
pub use sign::{WebhookSecret, WebhookSecretError};
pub use tell::{MAX_SEND_TRIES, NotificationError, send_with_retries};
