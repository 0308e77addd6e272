//! What is kept true on a schedule.

mod args;
mod next;
mod shown;

pub use args::{GoalArgs, run};
