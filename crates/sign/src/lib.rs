//! Seals: signed statements, whose signer and integrity anyone can verify.
//!
//! A statement is written as [canonical](canonical()) JSON and put into an [`DsseEnvelope`] (DSSE), signed with
//! Ed25519 by one [`Signer`] or more; a [`PublicKey`] opens it. An approver may also have a [`Passkey`], with which a
//! device signs that recognises its user. Pure: files are read and written,
//! and random bytes are drawn, elsewhere.
//!
//! **Invariant:** only [`Signer::to_pem`] and [`Signer::to_encrypted_pem`] reveal a private key.
//! **Invariant:** verification is strict: keys and signatures have one form only, and keys under which anyone
//! can sign are refused.

pub mod approval;

mod canonical;
mod envelope;
mod key;
mod passkey;
mod signer;
#[cfg(test)]
mod tests;
mod words;

pub use canonical::{canonical, canonical_without};
pub use envelope::{DsseEnvelope, EnvelopeError, EnvelopeSignature, pae};
pub use key::{ApproverKey, BadKey, PublicKey, hex, unhex};
pub use passkey::{Passkey, PasskeyAssertion};
pub use signer::{KeyEncryptionSalt, PrivateKeyText, Signer};
pub use words::key_words;
