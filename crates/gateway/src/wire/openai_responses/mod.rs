//! OpenAI Responses.
//!
//! Nothing is kept at the provider (`store: false`): each request has the whole conversation. Reasoning between two
//! turns is not sent back.

mod decode;
mod encode;
mod stream;

pub use decode::decode;
pub use encode::encode;
pub use stream::ResponsesStream;

#[cfg(test)]
pub(super) mod tests;
