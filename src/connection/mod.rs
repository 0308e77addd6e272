//! Connections are skills: what their scripts and wf tell each other, and what follows from it.
//!
//! The scripts speak NDJSON: one JSON object a line, UTF-8. `setup` is a conversation, decided
//! by [`Setup`]; each other script is asked once and answers once, see [`request`]. What is not
//! in the protocol ends the script with one error that names the line.
//!
//! **Invariant:** no secret is in any message of the protocol, either way: secrets are spoken of
//! by their [`RefId`](crate::name::RefId). **Invariant:** a setup that failed is never complete,
//! whatever its script says afterwards. **Invariant:** no error quotes what a script said where
//! that could be a secret.
//!
//! After Silas 4.0, sections 5.10 and 10.6.

mod failure;
mod protocol;
mod refresh;
pub mod request;
mod setup;
#[cfg(test)]
mod tests;
mod text;

pub use failure::{ConnectionFailure, FailureKind, Remedy, remedies};
pub use protocol::{Completed, Level, MOST_LINE, MOST_LINES, Step, Told};
pub use refresh::{Expiry, RefreshPlan, Why, plan};
pub use setup::{Answer, Fault, Input, Output, Setup, Terms};
