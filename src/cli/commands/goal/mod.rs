//! What is kept true on a schedule.

mod args;
mod autonomy;
mod backfill;
mod feedback;
mod history;
mod list;
mod next;
mod pause;
mod run;
mod shown;
mod tighten;
mod who;

pub use args::{GoalArgs, run};
pub use next::instant;
use who::who;
