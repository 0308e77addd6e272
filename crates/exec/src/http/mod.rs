//! HTTP requests: rendered, sent, and their responses kept like the output of a process.
//!
//! **Invariant:** a proxy is used only if steps may see the variables naming it.
//! **Invariant:** a request carrying a secret is not redirected to another host; a notification ([`HttpNotification`])
//! is not redirected at all.

mod client;
mod exchange;
mod job;
mod notification;
mod request;
#[cfg(test)]
mod tests;

pub use client::HttpClient;
pub use exchange::{HttpAnswer, HttpExchange};
pub use job::{HttpJob, HttpOutcome};
pub use notification::HttpNotification;
pub use request::HttpRequest;
