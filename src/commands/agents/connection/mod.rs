//! `wf connection`: accounts at services, maintained by skills.
//!
//! One file for each of its commands; [`args`] chooses between them.

mod add;
mod approve;
mod args;
mod check;
mod grant;
mod list;
mod remove;

pub use args::{ConnectionArgs, run};
