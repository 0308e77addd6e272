//! Seals: what is said is signed, so that others can check who said it and that nobody changed it.
//!
//! A statement is written as [canonical](canonical()) JSON and put into an [`Envelope`] (DSSE), signed with
//! Ed25519 by a [`Signer`]; a [`PublicKey`] opens it. Pure: files are read and written elsewhere.
//!
//! **Invariant:** a private key is never shown and never written.

mod canonical;
mod envelope;
mod key;

pub use canonical::canonical;
pub use envelope::{Envelope, NotSealed, Signature, pae};
pub use key::{BadKey, PublicKey, Signer};
