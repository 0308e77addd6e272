//! Connections are skills: the protocol between their scripts and wf, and what follows from it.
//!
//! The scripts speak NDJSON: one JSON object per line, UTF-8. `setup` is a conversation, decided by
//! [`SetupConversation`]; every other script gets one request and returns one answer, see [`request`]. Any line
//! outside the protocol ends the script with one error naming the line.
//!
//! **Invariant:** no secret is in any message of the protocol, either way: secrets are referred to
//! by their [`RefId`](wf_base::name::RefId). **Invariant:** a setup that failed is never complete,
//! whatever its script says afterwards. **Invariant:** no error quotes script output that could be
//! a secret.
//!
//! After Silas 4.0, sections 5.10 and 10.6.

mod failure;
mod protocol;
mod refresh;
pub mod request;
mod setup;
mod state;
#[cfg(test)]
mod tests;
mod text;

pub use failure::{ConnectionFailure, FailureKind, remedies};
pub use protocol::{MOST_LINE, MOST_LINES, SetupCompletion, SetupHostMessage, SetupLogLevel, SetupStep};
pub use refresh::{RefreshPlan, RefreshReason, TokenExpiry, plan};
pub use setup::{SetupAnswer, SetupConversation, SetupFault, SetupInput, SetupOutput, SetupTerms};
pub use state::ConnectionState;
