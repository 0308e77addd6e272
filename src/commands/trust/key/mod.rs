//! `wf key`: keys for signatures of approvals.
//!
//! The keys themselves are in [`keys`](crate::keys), the approvers are in `approvers.yaml`.

mod args;
mod change;
mod check_signature;
mod enrol;
mod make;
mod show;

pub use args::{KeyArgs, run};
