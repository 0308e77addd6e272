//! HTTP requests: rendered, sent, and their responses kept like the output of a process.
//!
//! **Invariant:** a proxy is used only if steps may see the variables that name it.
//! **Invariant:** a request that carries a secret is not redirected to another host; a notification
//! ([`HttpNotification`]) is not redirected at all.

mod ask;
mod client;
mod job;
mod post;
#[cfg(test)]
mod tests;

pub use ask::HttpRequest;
pub use client::HttpClient;
pub use job::HttpJob;
pub use post::HttpNotification;
