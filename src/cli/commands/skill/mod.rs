//! `wf skill`: what skills there are, whether they are as the standard wants them, and what they
//! say.
//!
//! One file for each of its commands; [`args`] chooses between them. **Invariant:** a skill's text
//! is data of somebody else: what of it is printed to be looked at is made visible.

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
pub use args::{SkillArgs, run};
