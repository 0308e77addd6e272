//! Masking of secrets in all that leaves a run: logs, outputs, events, errors.
//!
//! A [`SecretMask`] knows every form in which a secret is likely to appear: as it is, line by line, leaf by leaf if it is JSON, escaped for JSON, in base64 and base32 at every
//! alignment, in hexadecimal, encoded for URLs and XML, quoted for a shell, and a long one with line ends in between. So is the text it encodes, if it is itself base64,
//! hexadecimal or the like. Each becomes `***`. A [`MaskingStream`] does the same to bytes that come in chunks.
//!
//! A filter skips bytes that cannot be a secret; the automaton decides about the rest, in time
//! linear in the bytes.
//!
//! **Invariant:** the masked text is the same however the bytes were cut into chunks.
//! **Invariant:** without secrets nothing is copied or looked at.
//!
//! Not masked: texts that are too weak, see [`weakness`]. Masking them would destroy the logs and
//! reveal the secret by the gaps.

mod codes;
mod decoded;
mod filter;
mod fingerprint;
mod forms;
mod mask;
mod parts;
mod patterns;
mod scan;
mod stream;
mod strength;
#[cfg(test)]
mod tests;

pub use fingerprint::SecretFingerprint;
pub use forms::forms;
pub use mask::SecretMask;
pub use stream::MaskingStream;
pub use strength::{SHORTEST, SecretWeakness, weakness};
