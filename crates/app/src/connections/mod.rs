//! Accounts at services, maintained by skills.
//!
//! An adapter of a skill is read from its declaration ([`parse_declaration`]); what goes wrong with one is an
//! [`AdapterFailure`] with its remedy. [`ConnectionAdapter`] is such a skill, `AdapterRunner`
//! runs its scripts for one connection, and [`check_connections`] acts on the result of a health
//! check.
//!
//! **Invariant:** a script runs in a sandbox, with the checked bytes, and with the secrets
//! of its own connection alone. **Invariant:** the output of a script is searched for secrets
//! before it is used.

mod adapter;
mod connect;
mod consent;
mod declared;
mod desk;
mod goal;
mod health;
mod ledger;
mod prompts;
mod record;
mod review;
mod secret_sources;
mod setup;
mod trouble;

pub use adapter::ConnectionAdapter;
pub use connect::{
    ConnectionGrant, ConnectionOffer, EstablishedConnection, NewConnection, remove_connection,
};
pub use declared::{AdapterDeclaration, parse_declaration};
use desk::{AdapterRunner, NamedSecrets, secrets_error};
pub use goal::write_health_goal;
pub use health::{ConnectionCheckResult, check_connections};
pub(crate) use ledger::connection_rows;
pub use prompts::{enter_secret, waiting_secrets};
pub use record::{ConnectionRecord, RecordedConnectionFailure, list_connections, read_connection};
pub use review::{ConnectionApprovalRequest, ConnectionReview};
pub use secret_sources::SetupSecretSources;
pub use trouble::{AdapterFailure, AdapterFailureKind};
pub use wf_exec::connection_secrets::{SecretEntryError, SecretPrompt};
