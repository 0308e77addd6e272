//! Secrets in what leaves a run: logs, outputs, events, errors.
//!
//! A [`Mask`] knows every form in which a secret is likely to show: as it is, line by line, leaf
//! by leaf where it is JSON, escaped for JSON, in base64 at every alignment, in hexadecimal,
//! encoded for URLs, quoted for a shell. Each becomes `***`. A [`Stream`] does the same to bytes
//! that come in chunks.
//!
//! **Invariant:** the masked text is the same however the bytes were cut into chunks.
//! **Invariant:** without secrets nothing is copied or looked at.
//!
//! Not here: texts shorter than [`SHORTEST`] characters. To mask them would destroy the logs and
//! tell the secret by what is missing.

mod forms;
mod patterns;
mod stream;
#[cfg(test)]
mod tests;

pub use forms::SHORTEST;
pub use patterns::Mask;
pub use stream::Stream;
