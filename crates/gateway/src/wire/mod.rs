//! The wire formats of providers: a request becomes JSON, JSON or a stream becomes a reply.
//!
//! Pure: nothing here sends. Unknown fields of a reply are ignored; a missing one that matters is an error that names
//! it.
//!
//! **Invariant:** a stream that was cut is an error and never a shorter reply.

pub mod anthropic;
mod draft;
mod error;
mod error_body;
mod field;
mod format;
pub mod openai_chat;
pub mod openai_responses;
mod strict_schema;

pub use error::WireError;
pub use error_body::{ProviderMessage, read_error_body};
pub use format::{ReplyStream, WireRequest, decode_reply, encode_request, open_stream, usage_so_far};

#[cfg(test)]
pub(crate) mod tests;
