//! Requests: rendered, sent, and their answers kept like the output of a process.
//!
//! **Invariant:** a proxy is used only if steps may see the variables that name it.
//! **Invariant:** a request that carries a secret is not redirected to another host.

mod ask;
mod client;
mod job;
#[cfg(test)]
mod tests;

pub use ask::Ask;
pub use client::Client;
pub use job::Job;
