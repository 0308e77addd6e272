//! Accounts at services that skills maintain: shared by the commands of `wf connection`.
//!
//! [`ConnectionAdapter`] is a skill that can do so, [`AdapterRunner`] runs its scripts for one connection, and
//! [`health`](health::check_connection) acts on the result of a health check.
//!
//! **Invariant:** a script runs in a sandbox, with the bytes that were checked, and with the secrets
//! of its own connection alone. **Invariant:** the output of a script is searched for secrets
//! before it is used.

mod adapter;
pub mod consent;
mod desk;
pub mod health;
mod ledger;
mod person;
mod setup;

pub use adapter::ConnectionAdapter;
pub use desk::{AdapterRunner, NamedSecrets, secrets_error};
pub use ledger::{connection_rows, find_connection, open_connection_store};
pub use person::{SecretArgs, SecretFiles};
pub use setup::{ConnectionSetupError, ConnectionSetupRequest, set_up};
