//! Seals: what is said is signed, so that others can check who said it and that nobody changed it.
//!
//! A statement is written as [canonical](canonical()) JSON and put into an [`Envelope`] (DSSE), signed with
//! Ed25519 by one [`Signer`] or more; a [`PublicKey`] opens it. Pure: files are read and written,
//! and random bytes are drawn, elsewhere.
//!
//! **Invariant:** a private key is shown by [`Signer::to_pem`] and [`Signer::to_encrypted_pem`] and
//! by nothing else. **Invariant:** verification is strict: of a key and of a signature there is one
//! form only, and keys under which anybody can sign are no keys.

mod canonical;
mod envelope;
mod hex;
mod key;
mod signer;
#[cfg(test)]
mod vectors;

pub use canonical::{canonical, canonical_without};
pub use envelope::{Envelope, NotSealed, Signature, pae};
pub use hex::{hex, unhex};
pub use key::{BadKey, PublicKey};
pub use signer::{Salt, Secret, Signer};
