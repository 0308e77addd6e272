//! `wf suggestion`: what runs say that may be done next.
//!
//! One file for each of its commands; [`args`] chooses between them.

mod accept;
mod args;
mod dismiss;
mod list;

pub use args::{SuggestionArgs, run};
