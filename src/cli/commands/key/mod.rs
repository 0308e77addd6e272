//! `wf key`: keys that sign approvals.
//!
//! One file a subcommand.

mod args;
mod check_signature;

pub use args::{KeyArgs, run};
