//! One call over HTTP: its address, its content, and the bounds of the reply.
//!
//! Replies are streamed, so a silent provider is noticed and a long reply does not run into a timeout
//! of a proxy.
//!
//! **Invariant:** a redirect is never followed, so a key reaches the origin of its address alone. Plain HTTP reaches
//! this machine alone.

mod address;
mod provider;
mod receive;

pub use address::{BadBaseUrl, BadModelKey, ModelKey, ProviderAddress};
pub use provider::{ClientLimits, FailedSend, ProviderCall, ProviderClient};

#[cfg(test)]
mod tests;
