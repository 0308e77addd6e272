//! Requests: rendered, sent, and their answers kept like the output of a process.
//!
//! **Invariant:** a proxy is used only if steps may see the variables that name it.
//! **Invariant:** a request that carries a secret is not redirected to another host; what is only told
//! to somebody ([`Post`]) is not redirected at all.

mod ask;
mod client;
mod job;
mod post;
#[cfg(test)]
mod tests;

pub use ask::Ask;
pub use client::Client;
pub use job::Job;
pub use post::Post;
