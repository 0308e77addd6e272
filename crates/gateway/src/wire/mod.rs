//! The wire formats of providers: a request becomes JSON, JSON or a stream becomes a reply.
//!
//! Pure: nothing here sends. Unknown fields of a reply are ignored; a missing one of importance is an error naming
//! it.
//!
//! **Invariant:** a cut stream is an error and never a shorter reply.

pub mod anthropic;
mod error;
mod format;
pub mod openai_chat;
pub mod openai_responses;
mod strict_schema;

pub use error::{ProviderMessage, WireError, read_error_body};
pub use format::{ReplyStream, WireRequest, decode_reply, encode_request, open_stream, usage_so_far};

#[cfg(test)]
pub(crate) mod tests;
