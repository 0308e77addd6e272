//! The parts of a connection that commands and goals share.
//!
//! An adapter of a skill is read from its declaration ([`parse_declaration`]); what goes wrong with one is an
//! [`AdapterFailure`], which says what to do. **Invariant:** no secret passes here.

mod declared;
mod goal;
mod trouble;

pub use declared::{AdapterDeclaration, parse_declaration};
pub use goal::write_health_goal;
pub use trouble::{AdapterFailure, AdapterFailureKind};
