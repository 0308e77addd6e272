//! OpenAI Chat Completions, as OpenAI and many compatible servers speak it.
//!
//! Its `prompt_tokens` include cached ones, as ours do. Not all servers count: then all counts are zero, and the caller
//! estimates them.

mod decode;
mod encode;
mod stream;

pub use decode::decode;
pub(crate) use decode::read_call;
pub use encode::encode;
pub(crate) use encode::write_call;
pub(super) use encode::{DEMANDS, result_text};
pub use stream::ChatStream;

#[cfg(test)]
pub(super) mod tests;
