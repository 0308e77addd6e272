//! `wf session`: lines of work, kept apart, put aside and taken up again.
//!
//! One file for each of its commands; [`args`] chooses between them.

mod args;
mod begin;
mod end;
mod list;
mod pause;
mod show;
mod switch;

pub use args::{SessionArgs, run};
