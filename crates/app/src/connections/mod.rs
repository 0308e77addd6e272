//! Accounts at services that skills maintain.
//!
//! An adapter of a skill is read from its declaration ([`parse_declaration`]); what goes wrong with one is an
//! [`AdapterFailure`], which says what to do. [`ConnectionAdapter`] is a skill that can do so, [`AdapterRunner`]
//! runs its scripts for one connection, and [`health`](health::check_connection) acts on the result of a health
//! check.
//!
//! **Invariant:** a script runs in a sandbox, with the bytes that were checked, and with the secrets
//! of its own connection alone. **Invariant:** the output of a script is searched for secrets
//! before it is used.

mod adapter;
pub mod consent;
mod declared;
mod desk;
mod goal;
pub mod health;
mod ledger;
mod prompts;
mod review;
mod secret_sources;
mod setup;
mod trouble;

pub use adapter::ConnectionAdapter;
pub use declared::{AdapterDeclaration, parse_declaration};
pub use desk::{AdapterRunner, NamedSecrets, secrets_error};
pub use goal::write_health_goal;
pub use ledger::{connection_rows, find_connection, open_connection_store};
pub use prompts::{enter_secret, waiting_secrets};
pub use review::{ConnectionApprovalRequest, ConnectionReview};
pub use secret_sources::SetupSecretSources;
pub use setup::{ConnectionSetupError, ConnectionSetupRequest, set_up};
pub use trouble::{AdapterFailure, AdapterFailureKind};
pub use wf_exec::connection_secrets::{SecretEntryError, SecretPrompt};
