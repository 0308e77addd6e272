//! `wf skill`: lists skills, validates them against the standard, and prints their text.
//!
//! One file for each of its commands; [`args`] chooses between them. **Invariant:** a skill's text
//! is untrusted: control characters are made visible where it is printed for review.

mod approve;
mod args;
mod import;
mod install;
mod list;
mod lock;
mod prompt;
mod properties;
mod remove;
mod report;
mod search;
mod shelves;
mod show;
mod update;
mod validate;
mod verdicts;
mod walk;

pub use approve::approve;
pub use args::{SkillCommandArgs, run};
pub use shelves::usable_skills;
