//! SHA-256, so a digest can be checked with `sha256sum`.
//!
//! **Invariant:** the text of a digest is 64 lower-case hexadecimal digits, everywhere.

mod sha256;

pub use sha256::{ParseDigestError, Sha256Digest};
