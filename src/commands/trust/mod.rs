//! The commands about trust: the inbox of a person, their approvals and keys, and the proofs for others.
//!
//! An approval is signed in `wf_app::approve`; here is how a person is asked. Start at `inbox` and `approve`, then `attest`,
//! whose seal the audit log and bundles of memory have too.

pub mod answer;
pub mod approve;
pub mod attest;
pub mod audit;
pub mod deny;
pub mod gate;
pub mod inbox;
pub mod key;
pub mod verify;
