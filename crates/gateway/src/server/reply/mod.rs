//! Replies to clients: the reply of a model becomes JSON or a stream of events, in the format of the request.
//!
//! A stream is written when the model is done, since the gateway may call it several times for one reply. The replies
//! have no time of creation: it is always zero, and clients ignore it.

mod anthropic;
mod error;
mod openai_chat;
mod openai_responses;
mod write;

pub use error::{write_error, write_error_event};
pub use write::{ReplyBody, write_reply};

#[cfg(test)]
mod tests;
