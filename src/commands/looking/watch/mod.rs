//! `wf watch`: a run on the whole terminal, followed while it goes on, on this machine or on a backend.
//!
//! ```text
//! keys ──▶ WatchScreen ──▶ RunWatcher::look ──▶ WatchedRun ──▶ draw ──▶ terminal
//!              ▲                                    │
//!              └────────── what is selected ◀───────┘
//! ```
//!
//! `screen` is a value that keys change, and `draw` makes cells of it: both are tested without a terminal. `command` is the thin
//! edge, and `stop` hears the signals on which it leaves.
//!
//! **Invariant:** however it ends, the terminal is as it was: after a key, a signal, an error or a panic.

mod command;
mod draw;
mod screen;
mod stop;
#[cfg(test)]
mod tests;

pub use command::{WatchArgs, run};
