//! `wf suggestion`: proposals of runs for the next work.
//!
//! One file for each of its commands; [`args`] chooses between them.

mod accept;
mod args;
mod dismiss;
mod list;

pub use args::{SuggestionArgs, run};
