//! `wf goal`: desired state on a schedule.
//!
//! One file for each of its commands; [`args`] chooses between them.

mod accept;
mod args;
mod autonomy;
mod backfill;
mod deploy;
mod feedback;
mod history;
mod list;
mod next;
mod pause;
mod run;
mod shown;
mod simulate;
mod tighten;

pub use args::{GoalArgs, run};
pub use run::run_now;
pub use shown::local;
pub use wf_app::keys::author;
