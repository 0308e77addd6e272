//! The work of a step in an attempt: its process, its request, its wait, or the plan it runs.
//!
//! ```text
//! cache: the result is known ──▶ restored, no attempt
//! work ──▶ supply: secrets, copies of verified files ──▶ argv ──▶ the process, with its output ──▶ collect ──▶ the end
//! the task is verified ──▶ cache: the result is stored
//! ```
//!
//! Agents use its parts: their tools run in the same surroundings, and their work is collected in the same way.
//! **Invariant:** all that the work left is stored before its end is reported.
//!
//! Start at `work`.

mod argv;
pub(crate) mod cache;
pub(crate) mod generate;
pub(crate) mod output;
mod request;
mod supply;
mod work;
