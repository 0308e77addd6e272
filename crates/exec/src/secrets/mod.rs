//! Secrets and keys: where they are, how they are read, and for whom.
//!
//! ```text
//! secret: of a plan, from a variable, a file, a program or the keyring ──▶ a run, once
//! connection_secrets: stored by name ──▶ one process at a time            keyfile: the keys that sign
//! ```
//!
//! **Invariant:** a secret is masked wherever it could be shown, from the moment it is known.
//! **Invariant:** what is stored is readable by its owner alone.
//!
//! Start at `secret`; `connection_secrets` is what connections have beside it, `keychain` and `keyfile` are where
//! secrets and keys lie.

pub mod connection_secrets;
pub mod keychain;
pub mod keyfile;
pub mod secret;
