//! What is kept true on a schedule.

mod args;
mod backfill;
mod history;
mod list;
mod next;
mod pause;
mod run;
mod shown;

pub use args::{GoalArgs, run};
pub use next::instant;
