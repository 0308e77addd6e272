//! Anthropic Messages.
//!
//! Its `input_tokens` are those that are neither read from a cache nor written to one; ours are all of them.

mod decode;
mod encode;
mod stream;

pub use decode::decode;
pub(crate) use decode::read_call;
pub use encode::encode;
pub use stream::AnthropicStream;

#[cfg(test)]
pub(super) mod tests;
