//! Tells people of a transition: by a command, or by a webhook.
//!
//! What is told is a [`Notice`]. It is tried up to [`TRIES`] times, with the same id, so that who
//! gets it twice can drop the second; the pauses come from the caller. What cannot become better by
//! trying again (an address that is none, an answer like 404, a redirection) is not tried again.
//!
//! Webhooks are signed as [Standard Webhooks](https://www.standardwebhooks.com/) says:
//! `webhook-id`, `webhook-timestamp` in seconds, and `webhook-signature`, which is `v1,` and the
//! HMAC-SHA256 of `id.timestamp.body` in base64.
//!
//! **Invariant:** no reason for a failure has a secret in it: of an address it names the origin, of
//! what a command printed what is left when the secrets are masked.

mod channel;
mod notice;
mod sign;
mod tell;
#[cfg(test)]
mod tests;

pub use channel::{Channel, Command, Webhook, passed};
pub use notice::Notice;
pub use sign::{BadSecret, Secret};
pub use tell::{TRIES, Untold, tell};
