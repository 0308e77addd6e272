//! Secrets in what leaves a run: logs, outputs, events, errors.
//!
//! A [`Mask`] knows every form in which a secret is likely to show: as it is, line by line, leaf
//! by leaf where it is JSON, escaped for JSON, in base64 and base32 at every alignment, in
//! hexadecimal, encoded for URLs and XML, quoted for a shell, and a long one with line ends in
//! between. Each becomes `***`. A [`Stream`] does the same to bytes that come in chunks.
//!
//! A filter skips what cannot be a secret; the automaton decides about the rest, in time linear
//! in the bytes.
//!
//! **Invariant:** the masked text is the same however the bytes were cut into chunks.
//! **Invariant:** without secrets nothing is copied or looked at.
//!
//! Not here: texts that are too weak, see [`weakness`]. To mask them would destroy the logs and
//! tell the secret by what is missing.

mod codes;
mod filter;
mod forms;
#[expect(
    clippy::module_inception,
    reason = "the type that the module is named after"
)]
mod mask;
mod parts;
mod patterns;
mod scan;
mod stream;
mod strength;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod transforms;

pub use forms::forms;
pub use mask::Mask;
pub use stream::Stream;
pub use strength::{SHORTEST, Weakness, weakness};
