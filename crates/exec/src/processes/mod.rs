//! One process, from its command to its end, with everything it starts.
//!
//! ```text
//! shell, container, environment ──▶ process: a command ──▶ spawn ──▶ supervise: until it exits, or is ended
//!                                                            │           └──▶ output_pipe ──▶ a sink: tails, a log
//!                                                            └──▶ tree: its descendants, found and ended
//! ```
//!
//! A probe keeps the beginning of its output in memory; a dialogue passes its lines on while it runs. Control groups
//! and the memory left bound all processes together.
//! **Invariant:** only `process` and the stages of a [`sandbox`](crate::sandbox) spawn processes.
//! **Invariant:** a process ends with the future following it, and its descendants with it.
//!
//! Start at `process`, then `supervise` and `tree`; `probe` and `dialogue` are the two ways to use them.

pub mod container;
pub(crate) mod control_group;
pub mod dialogue;
pub mod environment;
pub(crate) mod memory_room;
mod output_pipe;
pub mod probe;
pub mod process;
pub mod shell;
pub(crate) mod spawn;
pub mod supervise;
pub(crate) mod tails;
pub mod tree;
