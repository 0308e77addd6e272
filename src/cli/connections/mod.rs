//! Accounts at services that skills look after: what the commands of `wf connection` share.
//!
//! [`Adapter`] is a skill that can do so, [`Desk`] runs its scripts for one connection, and
//! [`health`](health::look) says what follows from a look at it.
//!
//! **Invariant:** a script runs in a sandbox, with the bytes that were checked, and with the secrets
//! of its own connection alone. **Invariant:** what a script says is looked through for secrets
//! before anything is made of it.

mod adapter;
pub mod consent;
mod declared;
mod desk;
mod goal;
pub mod health;
mod ledger;
mod person;
mod setup;
mod trouble;

pub use adapter::Adapter;
pub use desk::{Desk, Secrets, refused};
pub use goal::write_goal;
pub use ledger::{ledger, named, rows};
pub use person::{SecretArgs, SecretFiles};
pub use setup::{Failed, Wish, set_up};
pub use trouble::Trouble;
