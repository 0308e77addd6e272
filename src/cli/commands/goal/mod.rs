//! `wf goal`: what is kept true on a schedule.
//!
//! One file for each of its commands; [`args`] chooses between them.

mod args;
mod next;
mod shown;

pub use args::{GoalArgs, run};
