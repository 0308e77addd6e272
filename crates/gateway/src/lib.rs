//! The only way to a model: a request in the format of no provider becomes a call, with retries, breakers and
//! fallbacks, and its result has its cost.
//!
//! A run can be [recorded](cassette), and repeated from the recording.
//! The formats ([`wire`]), the parser of streams ([`sse`]) and the rules ([`retry`]) are pure; [`client`] alone sends.
//! Programs in a sandbox call models through a [`server`] speaking the same formats.
//!
//! **Invariant:** a key is sent to the origin of its model's address and to no other; no message has a key.
//! **Invariant:** a call keeps a bounded part of any reply, and ends within a bounded time.

pub mod cassette;
pub mod client;
mod estimate;
mod field;
mod gateway;
pub mod retry;
pub mod scripted;
pub mod server;
pub mod sse;
pub mod wire;

pub use gateway::{
    AllowanceFuture, CallHealth, CallHealthFuture, FailedModelCall, Gateway, ModelCallError, ModelCallResult,
    ModelKeyError, ModelKeyFuture, ModelKeyResolver, ProcessHealth, TryAllowance, TryRefusal, UnlimitedTries,
};

#[cfg(test)]
mod tests;
