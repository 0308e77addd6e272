//! Requests of clients: a body in one of three formats becomes a request in the format of no provider.
//!
//! **Invariant:** what a model would need, and the gateway cannot carry, is an error naming the field; it is never
//! left out in silence.

mod anthropic;
mod openai_chat;
mod openai_responses;
mod read;

pub use read::{RequestError, read_request};

#[cfg(test)]
mod tests;
