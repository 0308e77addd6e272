//! Runs, before the engine has them: what one needs is found, opened and handed over.
//!
//! ```text
//! run_start ──▶ needs, relied: what would stop it or mislead it ──▶ session: state, keys, models ──▶ the engine
//!                                                                  └──▶ backend: the program driving it elsewhere
//! later   lineage, given, outdated: what an earlier engine knew, and what changed since ──▶ resume, retry;
//!         undo, suggestions: further runs
//! ```
//!
//! Approvals decide whether a run may start, and the engine what happens in it; neither happens here.
//! **Invariant:** a refused run has recorded nothing.
//!
//! Start at `run_start`, then `session`; `run_worktree` and `background` are other places and ways to run, and `run_acts` and
//! `plan_start` are what a browser asks for.

pub mod backend;
pub(crate) mod background;
pub(crate) mod given;
pub mod lineage;
pub(crate) mod needs;
pub(crate) mod outdated;
pub mod plan_start;
pub mod relied;
pub mod resume;
pub mod retry;
mod retry_preview;
pub mod run_acts;
pub mod run_start;
pub mod run_worktree;
mod selection;
pub mod session;
pub mod suggestions;
pub mod trace;
pub mod undo;
